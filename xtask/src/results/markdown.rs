//! Tables and numbers as Markdown, the same in every section.

/// A table with a heading row.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&heading.map(str::to_owned));
    text += &line(&["---"; N].map(str::to_owned));
    rows.into_iter().for_each(|row| text += &line(&row));
    text
}

/// A count with its thousands set apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the unit in which the published tables count memory.
pub fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_from_the_right() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(4_782_968), "4 782 968");
    }

    #[test]
    fn a_table_has_a_heading_a_rule_and_its_rows() {
        let text = table(["a", "b"], [["1".to_owned(), "2".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
    }
}
