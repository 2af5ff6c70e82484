//! The table as one self-contained page: no scripts, no other files. A counterexample opens with a click.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Cell, Column, Counterexample, Knobs, Row, text::heading};
use crate::quantity::{about, count, plural, seconds};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub fn page(rows: &[Row], knobs: &Knobs) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "What survives a power cut" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "What survives a power cut" }
                p.lead {
                    "Each cell was measured: the power was cut after every disk request of the same workloads, what "
                    "the disk may have kept was enumerated (crash mode " code { (knobs.crash.to_string()) }
                    "), recovered and judged. A check mark is no proof; it says in how many crash states the promise "
                    "was put to the test and held. A cross is a proof, which opens with a click."
                }
                (table(rows))
                p.legend {
                    span.mark.held { "✓" } " held  "
                    span.mark.broken { "✗" } " broken, though promised  "
                    span.mark.unpromised { "✗" } " broken, and never promised  "
                    span.mark.unknown { "–" } " not measured"
                }
                h2 { "The promises" }
                dl.promises {
                    @for column in Column::ALL {
                        dt { (heading(column)) }
                        dd { (column.says()) }
                    }
                }
                @for row in rows.iter().filter(|row| !row.aside.is_empty()) { (aside(row)) }
                h2 { "How it was measured" }
                (figures(rows))
                p.foot { "shakedown characterise, version " (env!("CARGO_PKG_VERSION")) ", seed " (knobs.seed) }
            }
        }
    };
    page.into_string()
}

fn table(rows: &[Row]) -> Markup {
    html! {
        div.wide {
            table.cells {
                thead {
                    tr {
                        th scope="col" { "file system" }
                        @for column in Column::ALL { th scope="col" title=(column.says()) { (heading(column)) } }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (row.target) small { "promises " (row.contract.name()) } }
                            @for (column, cell) in row.columns() { td { (self::cell(row, column, cell)) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(row: &Row, column: Column, cell: &Cell) -> Markup {
    match cell {
        Cell::Held { crash_states } => html! {
            span.held title={ "held in " (plural(*crash_states, "crash state")) } {
                b { "✓" } small { (about(*crash_states as f64)) }
            }
        },
        Cell::Broken(found) => html! {
            // One name for all of them: whichever is opened closes the others.
            details name="cell" {
                summary.broken[found.promised].unpromised[!found.promised] title=(found.trace.detail) {
                    b { "✗" } small { (plural(found.trace.ops.len() as u64, "op")) }
                }
                (counterexample(row, column, found))
            }
        },
        Cell::NotMeasured { why } => html! { span.unknown title=(why) { b { "–" } } },
    }
}

fn counterexample(row: &Row, column: Column, found: &Counterexample) -> Markup {
    html! {
        div.drawer {
            h3 { (row.target) ": " (column.says()) }
            p {
                "Broken in " (count(found.broken)) " of the " (count(found.crash_states))
                " crash states in which it was judged"
                @if found.promised { ", though it is promised" } "."
                @if let Some(file) = &found.file { " See it again: " code { "shakedown replay " (file) } }
            }
            pre { (found.told.trim_end()) }
        }
    }
}

fn aside(row: &Row) -> Markup {
    html! {
        h2 { "What else was wrong with " (row.target) }
        @for (property, detail) in &row.aside { p.aside { "With the power on, " b { (property) } ": " (detail) } }
    }
}

fn figures(rows: &[Row]) -> Markup {
    html! {
        div.wide {
            table.figures {
                thead {
                    tr { th { "file system" } th { "workloads" } th { "crash states" } th { "time" } th { "limits" } }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { (row.target) }
                            td { (row.workloads) }
                            td { (count(row.crash_states)) }
                            td { (seconds(row.seconds)) }
                            td.text { @for limit in &row.limits { div { (limit) } } }
                        }
                    }
                }
            }
        }
    }
}
