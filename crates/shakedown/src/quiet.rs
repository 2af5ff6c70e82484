//! A target that panics is a finding, and told as one. What the standard library would say of it besides is left out.

use std::panic::{self, AssertUnwindSafe};

/// Does something that catches the panics of targets, without a word about these.
///
/// # Panics
/// The work itself panicked; then its words are told.
pub fn without_panic_messages<R>(work: impl FnOnce() -> R) -> R {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(usual);
    done.unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| payload.downcast_ref::<&str>().copied());
        panic!("{}", words.unwrap_or("something panicked that is no target"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "these words")]
    fn what_is_not_caught_within_is_told() {
        assert!(without_panic_messages(|| panic::catch_unwind(|| panic!("caught")).is_err()));
        without_panic_messages(|| panic!("these {}", "words"));
    }
}
