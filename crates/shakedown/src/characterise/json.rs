//! The table for programs. The keys are a promise to users, see `docs/formats.md`.

use serde_json::{Value, json};

use super::{Cell, Column, Knobs, Row};

/// All rows as one object, as text that ends with a newline.
pub fn json(rows: &[Row], knobs: &Knobs) -> String {
    let table = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "workloads": "persistence",
        "crash": knobs.crash.to_string(),
        "crash_states_max": knobs.crash_states_max,
        "depth_max": knobs.depth,
        "seed": knobs.seed,
        "columns": Column::ALL.map(|column| json!({"name": column.name(), "says": column.says()})),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{table:#}\n")
}

fn row(row: &Row) -> Value {
    let cells: serde_json::Map<String, Value> =
        row.columns().map(|(column, cell)| (column.name().to_owned(), self::cell(cell))).collect();
    let aside = |(property, detail): &(String, String)| json!({"property": property, "detail": detail});
    json!({
        "target": row.target,
        "promises": row.contract.name(),
        "cells": cells,
        "aside": row.aside.iter().map(aside).collect::<Vec<_>>(),
        "workloads": row.workloads,
        "crash_states": row.crash_states,
        "limits_hit": row.limits,
        "seconds": row.seconds,
    })
}

fn cell(cell: &Cell) -> Value {
    match cell {
        Cell::Held { crash_states } => json!({"held": true, "crash_states": crash_states}),
        Cell::NotMeasured { why } => json!({"held": null, "why": why}),
        Cell::Broken(found) => {
            let trace = found.file.as_ref().map_or_else(
                || serde_json::to_value(&found.trace).expect("plain data"),
                |file| Value::String(file.clone()),
            );
            json!({
                "held": false,
                "crash_states": found.crash_states,
                "broken": found.broken,
                "promised": found.promised,
                "property": found.trace.property,
                "detail": found.trace.detail,
                "ops": found.trace.ops.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "trace": trace,
            })
        }
    }
}
