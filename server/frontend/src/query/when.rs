//! Times as a user types them: RFC 3339, a date, or how long ago.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use super::{QueryError, QueryResult};

/// Start or end of a typed time; a date is a whole day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    First,
    Last,
}

/// Parses a typed time to microseconds since 1970. `now` has the same unit.
pub fn read(typed: &str, end: End, now: i64, zone: &TimeZone) -> QueryResult<i64> {
    let wrong = || {
        QueryError::usage(format!("invalid time `{typed}`"))
            .hint("use 2h, 3d, 2026-11-20, 2026-11-20T09:30 or 2026-11-20T09:30:00Z")
    };
    let typed = typed.trim();
    if let Ok(time) = typed.parse::<Timestamp>() {
        return Ok(time.as_microsecond());
    }
    let micros = |time: Zoned| time.timestamp().as_microsecond();
    if let Ok(day) = typed.parse::<Date>()
        && typed.len() <= "2026-11-20".len()
    {
        let begins = |day: Date| day.to_zoned(zone.clone()).map(micros).map_err(|_| wrong());
        return match end {
            End::First => begins(day),
            End::Last => Ok(begins(day.tomorrow().map_err(|_| wrong())?)? - 1),
        };
    }
    if let Ok(time) = typed.parse::<DateTime>() {
        return time.to_zoned(zone.clone()).map(micros).map_err(|_| wrong());
    }
    let ago = typed.strip_suffix("ago").unwrap_or(typed).trim();
    let span: Span = ago.parse().map_err(|_| wrong())?;
    let now = Timestamp::from_microsecond(now).map_err(|_| wrong())?;
    let then = now.to_zoned(zone.clone()).checked_sub(span.abs());
    then.map(micros).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_typed() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let at = |typed: &str, end| {
            let micros = read(typed, end, now.as_microsecond(), &TimeZone::UTC).unwrap();
            Timestamp::from_microsecond(micros).unwrap().to_string()
        };
        assert_eq!(at("2h", End::First), "2026-11-20T10:00:00Z");
        assert_eq!(at("90 min ago", End::First), "2026-11-20T10:30:00Z");
        assert_eq!(at("3d", End::Last), "2026-11-17T12:00:00Z");
        assert_eq!(at("2026-11-19", End::First), "2026-11-19T00:00:00Z");
        assert_eq!(at("2026-11-19", End::Last), "2026-11-19T23:59:59.999999Z");
        assert_eq!(at("2026-11-19 08:30", End::First), "2026-11-19T08:30:00Z");
        assert_eq!(
            at("2026-11-19T08:30:00+02:00", End::Last),
            "2026-11-19T06:30:00Z"
        );
        for wrong in ["", "yesterday-ish", "2026-13-01", "12"] {
            assert!(
                read(wrong, End::First, now.as_microsecond(), &TimeZone::UTC).is_err(),
                "{wrong}"
            );
        }
    }
}
