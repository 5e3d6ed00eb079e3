//! Renders a screen as a picture for the documentation.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// Width of one character, in pixels.
const WIDE: f32 = 8.43;
const HIGH: f32 = 19.0;
const MARGIN: f32 = 16.0;
/// The editor's default colours.
const FOREGROUND: &str = "#e0e2ea";
const BACKGROUND: &str = "#14161b";

/// Colours by their numbers in a terminal.
const PALETTE: [&str; 16] = [
    "#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4",
    "#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4",
];

/// Style of a run of cells.
#[derive(PartialEq)]
struct Look {
    front: String,
    back: String,
    bold: bool,
    italic: bool,
    dim: bool,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let (mut front, mut back) = (
            colour(cell.fgcolor(), FOREGROUND),
            colour(cell.bgcolor(), BACKGROUND),
        );
        if cell.inverse() {
            std::mem::swap(&mut front, &mut back);
        }
        Self {
            front,
            back,
            bold: cell.bold(),
            italic: cell.italic(),
            dim: cell.dim(),
        }
    }
}

fn colour(colour: Color, or: &str) -> String {
    match colour {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Idx(number) => match PALETTE.get(usize::from(number)) {
            Some(colour) => (*colour).to_owned(),
            // an editor for a picture uses true colours
            None => or.to_owned(),
        },
        Color::Default => or.to_owned(),
    }
}

/// Renders as SVG, for a terminal of true colours.
pub fn svg(screen: &Screen, label: &str) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let wide = f32::from(columns) * WIDE + 2.0 * MARGIN;
    let high = f32::from(rows) * HIGH + 2.0 * MARGIN;
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0} {high:.0}" role="img" aria-label="{label}"><rect width="{wide:.0}" height="{high:.0}" rx="8" fill="{BACKGROUND}"/><g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">"#
    );
    out.push('\n');
    let (mut backs, mut texts) = (String::new(), String::new());
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(first) = screen.cell(row, column) else {
                break;
            };
            let (look, begin) = (Look::of(first), column);
            let mut text = String::new();
            while let Some(cell) = screen
                .cell(row, column)
                .filter(|cell| Look::of(cell) == look)
            {
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() {
                        cell.contents()
                    } else {
                        " "
                    });
                }
                column += 1;
            }
            let (x, y) = (
                MARGIN + f32::from(begin) * WIDE,
                MARGIN + f32::from(row) * HIGH,
            );
            let length = f32::from(column - begin) * WIDE;
            if look.back != BACKGROUND {
                let fill = &look.back;
                let _ = writeln!(
                    backs,
                    r#"<rect x="{x:.1}" y="{y:.1}" width="{length:.1}" height="{HIGH}" fill="{fill}"/>"#
                );
            }
            draw(&mut texts, &look, &text, (x, y + HIGH * 0.75));
        }
    }
    out + &backs + &texts + "</g></svg>\n"
}

/// Draws each run without wide gaps separately, with the width of its cells.
fn draw(out: &mut String, look: &Look, text: &str, (x, y): (f32, f32)) {
    let mut at = 0.0;
    for part in text.split_inclusive("  ") {
        let cells = |text: &str| {
            let cells = text.chars().count();
            f32::from(u16::try_from(cells).unwrap_or(u16::MAX)) * WIDE
        };
        let bare = part.trim_start();
        let begin = x + at + cells(part) - cells(bare);
        at += cells(part);
        let bare = bare.trim_end();
        if bare.is_empty() {
            continue;
        }
        let escaped = bare.replace('&', "&amp;").replace('<', "&lt;");
        let weight = if look.bold {
            r#" font-weight="bold""#
        } else {
            ""
        };
        let style = if look.italic {
            r#" font-style="italic""#
        } else {
            ""
        };
        let opacity = if look.dim { r#" opacity=".55""# } else { "" };
        let (fill, length) = (&look.front, cells(bare));
        let _ = writeln!(
            out,
            r#"<text x="{begin:.1}" y="{y:.1}" fill="{fill}"{weight}{style}{opacity} textLength="{length:.1}" lengthAdjust="spacingAndGlyphs">{escaped}</text>"#
        );
    }
}
