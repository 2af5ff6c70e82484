//! Where a kernel is that does not come back, told as an oops tells it: the functions on its stack.
//!
//! The process that is the kernel is stopped, so that `/proc` knows its registers, and its memory is read. A kernel is
//! built without frame pointers, so what is named is the instruction itself and, with a question mark as in an oops,
//! each word of the stack that lies just behind a call: an earlier call may have left some of these.

use std::{fs, fs::File, os::unix::fs::FileExt as _, path::Path, thread::sleep, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use crate::symbols::Symbols;

/// The stacks of a kernel of 64 bits are so long, and begin at a multiple of it.
const STACK_BYTES: u64 = 1 << 14;
/// A process that is told to stop does so at once, unless the host is busy.
const LOOKS_MAX: u32 = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// The longest call, of an address that is computed.
const CALL_BYTES_MAX: usize = 7;
/// Whoever wants to know more needs a debugger.
const LINES_MAX: usize = 40;

/// The call trace of a kernel, which stands still from then on. `None` if the host does not tell.
pub(crate) fn call_trace(kernel: Pid, program: &Path) -> Option<String> {
    kill_process(kernel, Signal::STOP).ok()?;
    let process = format!("/proc/{}", kernel.as_raw_nonzero());
    let at = (0..LOOKS_MAX).find_map(|_| {
        let found = registers(&fs::read_to_string(format!("{process}/syscall")).ok()?);
        if found.is_none() {
            sleep(BETWEEN_LOOKS);
        }
        found
    })?;
    let symbols = Symbols::of(program);
    if symbols.is_empty() {
        return Some(format!("Call trace: at 0x{:x}; the kernel has no symbols", at.instruction));
    }
    let memory = File::open(format!("{process}/mem")).ok()?;
    let read = |address, bytes: &mut [u8]| memory.read_at(bytes, address).unwrap_or_default();
    Some(told(at, &symbols, &read))
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registers {
    stack: u64,
    instruction: u64,
}

/// The end of a line of `/proc/PID/syscall`. It is one word while the process runs.
fn registers(line: &str) -> Option<Registers> {
    let mut words = line.split_whitespace().rev().map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let (instruction, stack) = (words.next()??, words.next()??);
    Some(Registers { stack, instruction })
}

/// Reads memory at an address; how much of it is there.
type Read<'r> = dyn Fn(u64, &mut [u8]) -> usize + 'r;

fn told(at: Registers, symbols: &Symbols, read: &Read<'_>) -> String {
    let mut stack = vec![0; usize::try_from(STACK_BYTES - at.stack % STACK_BYTES).unwrap_or_default()];
    let len = read(at.stack, &mut stack);
    let words = stack[..len].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    let is_behind_a_call = |address: &u64| {
        let mut before = [0; CALL_BYTES_MAX];
        let start = address.saturating_sub(CALL_BYTES_MAX as u64);
        read(start, &mut before) == CALL_BYTES_MAX && ends_with_a_call(before)
    };
    let callers = words.filter_map(|word| Some((word, symbols.name(word)?)));
    let callers = callers.filter(|(word, _)| is_behind_a_call(word)).map(|(_, name)| format!(" ? {name}"));
    let place =
        symbols.name(at.instruction).unwrap_or_else(|| format!("0x{:x}, outside of the kernel", at.instruction));
    let lines =
        [String::from("Call trace (without frame pointers: a ? may be left over from before):"), format!(" {place}")];
    lines.into_iter().chain(callers.take(LINES_MAX)).collect::<Vec<_>>().join("\n")
}

/// Whether code ends with a call: of an address near it, or of one in a register or in memory.
fn ends_with_a_call(code: [u8; CALL_BYTES_MAX]) -> bool {
    let is_near = code[CALL_BYTES_MAX - 5] == 0xe8;
    is_near || (0..=CALL_BYTES_MAX - 2).any(|start| is_call_by_address(&code[start..]))
}

/// Whether this is an instruction `call` with a `ModRM` byte and nothing behind it.
fn is_call_by_address(code: &[u8]) -> bool {
    let [0xff, how, rest @ ..] = code else { return false };
    let (mode, operation, base) = (how >> 6, how >> 3 & 7, how & 7);
    let has_index = mode != 3 && base == 4;
    let base = if has_index { rest.first().map_or(0, |index| index & 7) } else { base };
    let displacement = match (mode, base) {
        (0, 5) | (2, _) => 4,
        (1, _) => 1,
        _ => 0,
    };
    operation == 2 && rest.len() == usize::from(has_index) + displacement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guest, Kernel, PLAIN};

    #[test]
    fn registers_are_known_of_a_process_that_stands_still() {
        let expected = Some(Registers { stack: 0x6480_3bd8, instruction: 0x600f_8e52 });
        let cases = [
            ("-1 0x64803bd8 0x600f8e52\n", expected),
            ("0 0x3 0x1 0x2 0x0 0x0 0x0 0x64803bd8 0x600f8e52\n", expected),
            ("running\n", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(registers(line), expected, "{line}");
        }
    }

    #[test]
    fn calls_are_told_from_other_code() {
        let cases: [(&[u8], bool); 10] = [
            (&[0, 0, 0xe8, 1, 2, 3, 4], true),
            (&[0, 0, 0, 0, 0, 0xff, 0xd0], true),
            (&[0, 0, 0, 0, 0x41, 0xff, 0xd4], true),
            (&[0, 0, 0, 0, 0xff, 0x50, 0x18], true),
            (&[0, 0, 0, 0xff, 0x54, 0x24, 8], true),
            (&[0xff, 0x14, 0xc5, 0x60, 0x10, 0, 0x60], true),
            (&[0, 0xff, 0x15, 1, 2, 3, 4], true),
            // A jump, an increment, and a call that is not the end.
            (&[0, 0, 0, 0, 0, 0xff, 0xe0], false),
            (&[0, 0, 0, 0, 0, 0xff, 0xc0], false),
            (&[0, 0, 0, 0, 0xff, 0xd0, 0x90], false),
        ];
        for (code, expected) in cases {
            assert_eq!(ends_with_a_call(code.try_into().unwrap()), expected, "{code:x?}");
        }
    }

    /// A stack whose end is near: a word behind a call, one that is not, one that is no code, and the caller's caller.
    #[test]
    fn each_word_behind_a_call_is_named() {
        let symbols = Symbols::listed("60000000 T inner\n60000100 t middle\n60000200 t outer\n60000300 T _etext\n");
        let end = 0x6480_4000;
        let words = [0x6000_0107_u64, 0x6000_0155, 0x7000_0007, 0x6000_0207];
        let start = end - 8 * words.len() as u64;
        let read = |address: u64, bytes: &mut [u8]| {
            if address == start {
                bytes.copy_from_slice(&words.map(u64::to_le_bytes).concat());
            } else if address.is_multiple_of(0x100) {
                bytes.copy_from_slice(&[0x90, 0x90, 0xe8, 0, 0, 0, 0]);
            }
            bytes.len()
        };
        let at = Registers { stack: start, instruction: 0x6000_0022 };
        let text = told(at, &symbols, &read);
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), [" inner+0x22", " ? middle+0x7", " ? outer+0x7"]);
        let elsewhere = told(Registers { instruction: 1, ..at }, &symbols, &read);
        assert!(elsewhere.contains(" 0x1, outside of the kernel\n ? middle+0x7"), "{elsewhere}");
    }

    /// It waits for its first batch: in a read of init's, which is a request to the mailbox.
    #[test]
    fn a_kernel_that_stands_still_says_where() {
        let Ok(kernel) = Kernel::built(PLAIN) else {
            assert!(std::env::var_os("CI").is_none(), "build a kernel");
            return;
        };
        let guest = Guest::boot(&kernel, 128, 0).unwrap();
        let trace = call_trace(guest.kernel_process().unwrap(), kernel.program()).unwrap();
        let callers = ["virtio_queue_rq", "blkdev_", "sys_pread64", "handle_syscall"];
        let lines: Vec<_> = callers.iter().map(|name| trace.lines().position(|line| line.contains(name))).collect();
        assert!(lines.iter().all(Option::is_some) && lines.is_sorted(), "{trace}");
    }
}
