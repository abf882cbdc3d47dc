//! Dates as people and feeds write them, in seconds since 1970.

/// Seconds since 1970 of a date (`2024-05-01`, its beginning in UTC), a time (RFC 3339: `2024-05-01T08:00:00+08:00`), or a
/// number of seconds.
///
/// ```
/// use leitong_detect::detector::time::seconds;
/// assert_eq!(seconds("1970-01-02"), Some(86_400));
/// assert_eq!(seconds("1970-01-01T08:00:01+08:00"), Some(1));
/// assert_eq!(seconds("-5"), Some(-5));
/// assert_eq!(seconds("yesterday"), None);
/// ```
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    period(text).map(|(start, _)| start)
}

/// The first second, and the first that is no longer meant: a date means its whole day.
pub(super) fn period(text: &str) -> Option<(i64, i64)> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Some((seconds, seconds.saturating_add(1)));
    }
    let day = days(text.get(..10)?)? * DAY;
    match text.get(10..)? {
        "" => Some((day, day + DAY)),
        rest => {
            let seconds = day + of_day(rest.strip_prefix(['T', 't', ' '])?)?;
            Some((seconds, seconds + 1))
        }
    }
}

const DAY: i64 = 86_400;

/// Days since 1970 of `2024-05-01`.
fn days(date: &str) -> Option<i64> {
    let (year, month, day) = (number(date, 0..4)?, number(date, 5..7)?, number(date, 8..10)?);
    let dashes = date.get(4..5)? == "-" && date.get(7..8)? == "-";
    if !dashes || !(1..=12).contains(&month) || !(1..=length(year, month)).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year (Hinnant, days_from_civil).
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468)
}

fn length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Seconds since midnight UTC of `08:00:00.5+08:00`.
fn of_day(time: &str) -> Option<i64> {
    let clock = |text: &str| {
        let (hours, minutes) = (number(text, 0..2)?, number(text, 3..5)?);
        (text.get(2..3)? == ":" && hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    };
    let seconds = number(time, 6..8).filter(|&seconds| time.get(5..6) == Some(":") && seconds <= 60)?;
    let mut zone = time.get(8..)?;
    if let Some(fraction) = zone.strip_prefix('.') {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if zone.len() == fraction.len() {
            return None;
        }
    }
    let offset = match zone {
        "Z" | "z" => 0,
        _ if zone.len() == 6 && zone.starts_with('+') => clock(zone.get(1..)?)?,
        _ if zone.len() == 6 && zone.starts_with('-') => -clock(zone.get(1..)?)?,
        _ => return None,
    };
    Some(clock(time)? + seconds - offset)
}

fn number(text: &str, place: std::ops::Range<usize>) -> Option<i64> {
    let digits = text.get(place)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before_it() {
        let mut expected = days("1599-12-31").unwrap();
        for year in 1600..2101 {
            for month in 1..=12 {
                for day in 1..=length(year, month) {
                    expected += 1;
                    assert_eq!(days(&format!("{year:04}-{month:02}-{day:02}")), Some(expected));
                }
            }
        }
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(seconds("2024-05-01"), Some(1_714_521_600));
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "2024",
            "2024-5-1",
            "2023-02-29",
            "2024-13-01",
            "2024-05-01T",
            "2024-05-01T24:00:00Z",
            "2024-05-01T10:00:00",
            "2024-05-01T10:00:00.Z",
            "2024-05-01T10:00:00+8",
            "二〇二四年五月一日",
        ] {
            // A bare number is seconds.
            assert_eq!(seconds(text), text.parse().ok(), "{text}");
        }
        assert_eq!(seconds("2024-05-01 10:00:00.25-01:30"), seconds("2024-05-01T11:30:00Z"));
    }
}
