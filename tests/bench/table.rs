//! The results as a table or as JSON.

use serde_json::{Value, json};

/// One operation next to its limit.
#[derive(Debug)]
pub struct Row {
    pub tree: String,
    pub operation: &'static str,
    pub limit_is: &'static str,
    pub ours: f64,
    pub limit: f64,
    pub goal: Goal,
    /// Unit of both figures.
    pub unit: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// At most this multiple of the limit.
    Ratio(f64),
    /// At most this value.
    AtMost(f64),
    /// At most this much above the limit.
    Above(f64),
}

impl Row {
    fn ratio(&self) -> f64 {
        self.ours / self.limit
    }

    fn met(&self) -> bool {
        match self.goal {
            Goal::Ratio(most) => self.ratio() <= most,
            Goal::AtMost(most) => self.ours <= most,
            Goal::Above(most) => self.ours - self.limit <= most,
        }
    }

    pub fn json(&self) -> Value {
        let (kind, goal) = match self.goal {
            Goal::Ratio(most) => ("ratio", most),
            Goal::AtMost(most) => ("at_most", most),
            Goal::Above(most) => ("above", most),
        };
        json!({
            "tree": self.tree, "operation": self.operation, "limit_is": self.limit_is, "unit": self.unit,
            "backstitch": self.ours, "limit": self.limit, "ratio": self.ratio(),
            "goal": {kind: goal}, "met": self.met(),
        })
    }

    fn cells(&self) -> [String; 8] {
        let goal = match self.goal {
            Goal::Ratio(most) => format!("≤ {} ×", (most * 1000.0).round() / 1000.0),
            Goal::AtMost(most) => format!("≤ {most} {}", self.unit),
            Goal::Above(most) => format!("≤ limit + {most} {}", self.unit),
        };
        let met = if self.met() { "met" } else { "MISSED" };
        [
            self.tree.clone(),
            self.operation.to_owned(),
            format!("{:.2} {}", self.ours, self.unit),
            format!("{:.2} {}", self.limit, self.unit),
            format!("{:.2} ×", self.ratio()),
            goal,
            met.to_owned(),
            self.limit_is.to_owned(),
        ]
    }
}

/// Formats the rows as a Markdown table.
pub fn text(rows: &[Row]) -> String {
    let head = [
        "tree",
        "operation",
        "Backstitch",
        "limit",
        "ratio",
        "goal",
        "",
        "the limit is",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let ruler = widths.iter().map(|w| "-".repeat(w + 2));
    let ruler = ruler.collect::<Vec<_>>().join("|");
    let drawn = lines.iter().map(|line| {
        let cells = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!(" {cell:<width$} "));
        cells.collect::<Vec<_>>().join("|")
    });
    let mut drawn: Vec<String> = drawn.collect();
    drawn.insert(1, ruler);
    format!("|{}|\n", drawn.join("|\n|"))
}
