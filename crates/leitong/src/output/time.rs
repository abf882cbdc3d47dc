//! Times and spans of time as people write them.

/// A time in UTC: `2024-05-01T08:00:00Z`.
pub(crate) fn utc(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that the leap day is the last of its year (Hinnant, civil_from_days). Wide, because
    // seconds may be any number.
    let days = i128::from(days) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    let (hours, minutes, seconds) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

/// Seconds of a span: `90s`, `15m`, `12h`, `30d`, `4w`.
pub(crate) fn span(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is no span of time: write 90s, 15m, 12h, 30d or 4w");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let number = &text[..text.len() - unit.len_utf8()];
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<i64> = number.parse().ok().filter(|&number| digits && number > 0);
    number.and_then(|number| number.checked_mul(seconds)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_detect::detector::time::seconds;

    #[test]
    fn what_is_written_reads_back() {
        for time in [0, -1, 1, 951_782_400, 1_709_164_800, 1_714_550_400, 4_102_444_799, -2_208_988_800] {
            assert_eq!(seconds(&utc(time)), Some(time), "{}", utc(time));
        }
        for day in -200_000..200_000 {
            assert_eq!(seconds(&utc(day * 86_400)), Some(day * 86_400));
        }
        assert_eq!(utc(1_714_521_600), "2024-05-01T00:00:00Z");
        assert!(utc(i64::MAX).ends_with('Z') && utc(i64::MIN).ends_with('Z'));
    }

    #[test]
    fn spans() {
        assert_eq!(span("90s"), Ok(90));
        assert_eq!(span("30d"), Ok(30 * 86_400));
        for wrong in ["", "d", "30", "-1d", "0s", "1.5h", "3天", "+1d", "99999999999999999w"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }
}
