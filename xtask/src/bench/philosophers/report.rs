//! The table of a race and the verdicts over it.

use std::fmt::Write as _;

use super::super::Verdict;
use super::racer::Row;

/// Shakedown on one thread, against SPIN's states a second.
const SPIN_RATIO_MIN: f64 = 4.0;
/// The same against stateright's.
const STATERIGHT_RATIO_MIN: f64 = 3.0;
/// Two threads against one.
const SCALING_MIN: f64 = 1.6;

/// The fastest round of each program; ratios are against the first one, SPIN.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("program                    states   seconds    states/s   to SPIN   bytes/state\n");
    let yardstick = rows.first().map(|row| row.best().states_per_second());
    for row in rows {
        let best = row.best();
        let ratio = yardstick.map_or(1.0, |yardstick| best.states_per_second() / yardstick);
        let _ = writeln!(
            text,
            "{:<22} {:>10} {:>9.3} {:>11.0} {:>8.2}x {:>13.1}",
            row.name,
            best.states,
            best.seconds,
            best.states_per_second(),
            ratio,
            best.bytes_per_state(),
        );
    }
    text
}

/// Judges the four programs, in the order SPIN, stateright, Shakedown on one thread, on two threads.
pub fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    let [spin, stateright, one, two] = rows else {
        return vec![Verdict { passed: false, text: format!("{} programs ran instead of 4", rows.len()) }];
    };
    let mut counts: Vec<u64> = rows.iter().flat_map(|row| &row.runs).map(|run| run.states).collect();
    counts.sort_unstable();
    counts.dedup();
    let equal = Verdict { passed: counts.len() == 1, text: format!("equal state counts: {counts:?}") };
    let at_least = |faster: &Row, slower: &Row, ratio_min: f64| {
        let ratio = faster.best().states_per_second() / slower.best().states_per_second();
        let text = format!("{} to {}: {ratio:.2}x, at least {ratio_min}x", faster.name, slower.name);
        Verdict { passed: ratio >= ratio_min, text }
    };
    vec![
        equal,
        at_least(one, spin, SPIN_RATIO_MIN),
        at_least(one, stateright, STATERIGHT_RATIO_MIN),
        at_least(two, one, SCALING_MIN),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::Measurement;
    use super::*;

    fn rows(seconds: [f64; 4]) -> Vec<Row> {
        let slower_round = |seconds: f64| Measurement { states: 800, seconds: seconds * 2.0, memory_bytes: 1600 };
        let round = |seconds: f64| Measurement { states: 800, seconds, memory_bytes: 1600 };
        let row = |seconds| Row::new("program".to_owned(), vec![slower_round(seconds), round(seconds)]);
        seconds.map(row).to_vec()
    }

    fn passed(rows: &[Row]) -> Vec<bool> {
        verdicts(rows).iter().map(|verdict| verdict.passed).collect()
    }

    #[test]
    fn each_target_can_be_missed_alone() {
        assert_eq!(passed(&rows([8.0, 6.0, 2.0, 1.0])), [true, true, true, true]);
        assert_eq!(passed(&rows([7.9, 6.0, 2.0, 1.0])), [true, false, true, true]);
        assert_eq!(passed(&rows([8.0, 5.9, 2.0, 1.0])), [true, true, false, true]);
        assert_eq!(passed(&rows([8.0, 6.0, 2.0, 1.3])), [true, true, true, false]);
        let mut unequal = rows([8.0, 6.0, 2.0, 1.0]);
        unequal[3].runs[0].states += 1;
        assert_eq!(passed(&unequal), [false, true, true, true]);
    }

    #[test]
    fn the_table_shows_the_fastest_round() {
        let table = table(&rows([8.0, 6.0, 2.0, 1.0]));
        assert!(table.lines().nth(3).unwrap().contains("2.000         400     4.00x           2.0"), "{table}");
    }
}
