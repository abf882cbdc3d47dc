//! Which stored documents count: conditions on their fields.

use super::time;
use leitong_store::Record;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Conditions that must all hold. The default has none.
///
/// ```
/// use leitong_detect::detector::Filter;
/// let filter = Filter::parse("source=新华社")?.and(Filter::parse("published>=2024-05-01")?);
/// let record = leitong_store::Record {
///     source: Some("新华社".into()),
///     published: Some(1_714_600_000),
///     ..Default::default()
/// };
/// assert!(filter.holds(&record));
/// # Ok::<(), leitong_detect::detector::FilterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Vec<Condition>);

/// A filter that cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// No field.
    #[error("the filter {0:?} names no field: write it like source=新华社, published>=2024-05-01, or tags")]
    NoField(String),
    /// A sign that could be meant as an operator, and is none.
    #[error(
        "the filter {0:?} has a `!` without `=` behind it: write field!=value, or the field alone if it only has to be there"
    )]
    NoOperator(String),
    /// A date that is none.
    #[error(
        "the filter {filter:?} compares a time with {value:?}: write 2024-05-01, 2024-05-01T08:00:00Z, or seconds since 1970"
    )]
    Time {
        /// The filter.
        filter: String,
        /// What is no date.
        value: String,
    },
    /// Times do not contain text.
    #[error("the filter {0:?} looks for text in a time: compare it with = != < <= > or >=")]
    TextInTime(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    field: Field,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    Id,
    Title,
    Source,
    Published,
    Expires,
    Metadata(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Text(Operator, String),
    /// From the first second to before the second.
    Time(Operator, i64, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Contains,
}

/// Longer ones first: `<=` is not `<`.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::More),
    ("~", Operator::Contains),
];

impl Filter {
    /// Reads one condition: a field, an operator (`=` `!=` `<` `<=` `>` `>=`, or `~` for "contains") and a value; a field
    /// alone must be there.
    ///
    /// Fields are `id`, `title`, `source`, `published`, `expires`, and any path into the metadata (`a.b.c`). Times are
    /// compared with dates (a date means its whole day in UTC), RFC 3339 or seconds; numbers in the metadata with numbers;
    /// everything else as text. A list in the metadata holds if one of its items does. What is not there is unequal to
    /// everything, and neither less nor more.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let split = text.find(['=', '!', '<', '>', '~']).and_then(|at| {
            let rest = &text[at..];
            let (sign, operator) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign))?;
            Some((text[..at].trim(), *operator, rest[sign.len()..].trim()))
        });
        let (name, operator) =
            split.map_or((text.trim(), None), |(name, operator, value)| (name, Some((operator, value))));
        if name.is_empty() {
            return Err(FilterError::NoField(text.to_owned()));
        }
        // Every other sign is an operator wherever it stands.
        if operator.is_none() && name.contains('!') {
            return Err(FilterError::NoOperator(text.to_owned()));
        }
        let field = Field::of(name);
        let test = match operator {
            None => Test::Exists,
            Some((operator, value)) if field.is_time() => time_test(text, operator, value)?,
            Some((operator, value)) => Test::Text(operator, value.to_owned()),
        };
        Ok(Self(vec![Condition { field, test }]))
    }

    /// Reads several conditions, all of which must hold.
    pub fn parse_all<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, FilterError> {
        texts.into_iter().try_fold(Self::default(), |all, text| Ok(all.and(Self::parse(text.as_ref())?)))
    }

    /// The conditions of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether it has no condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all conditions hold for a record.
    #[must_use]
    pub fn holds(&self, record: &Record) -> bool {
        self.0.iter().all(|condition| condition.holds(record))
    }
}

fn time_test(filter: &str, operator: Operator, value: &str) -> Result<Test, FilterError> {
    if operator == Operator::Contains {
        return Err(FilterError::TextInTime(filter.to_owned()));
    }
    let wrong = || FilterError::Time { filter: filter.to_owned(), value: value.to_owned() };
    let (start, end) = time::period(value).ok_or_else(wrong)?;
    Ok(Test::Time(operator, start, end))
}

impl Field {
    fn of(name: &str) -> Self {
        match name {
            "id" => Self::Id,
            "title" => Self::Title,
            "source" => Self::Source,
            "published" => Self::Published,
            "expires" => Self::Expires,
            path => Self::Metadata(path.to_owned()),
        }
    }

    fn is_time(&self) -> bool {
        matches!(self, Self::Published | Self::Expires)
    }
}

impl Condition {
    fn holds(&self, record: &Record) -> bool {
        match &self.field {
            Field::Id => self.test.of_text(Some(&record.id)),
            Field::Title => self.test.of_text(record.title.as_deref()),
            Field::Source => self.test.of_text(record.source.as_deref()),
            Field::Published => self.test.of_time(record.published),
            Field::Expires => self.test.of_time(record.expires),
            Field::Metadata(path) => self.test.of_value(look_up(record, path)),
        }
    }
}

/// A value of the metadata: under a key that is the whole path, or from object to object.
fn look_up<'a>(record: &'a Record, path: &str) -> Option<&'a Value> {
    let whole = record.metadata.get(path);
    let found = whole.or_else(|| {
        let mut keys = path.split('.');
        let first = record.metadata.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    });
    found.filter(|value| !value.is_null())
}

impl Test {
    fn of_time(&self, value: Option<i64>) -> bool {
        match (self, value) {
            (Self::Time(operator, ..), None) => *operator == Operator::Unequal,
            (_, None) => false,
            (Self::Time(operator, start, end), Some(value)) => match operator {
                Operator::Equal => (*start..*end).contains(&value),
                Operator::Unequal => !(*start..*end).contains(&value),
                Operator::Less => value < *start,
                Operator::AtMost => value < *end,
                Operator::More => value >= *end,
                Operator::AtLeast => value >= *start,
                Operator::Contains => false,
            },
            (_, Some(_)) => true,
        }
    }

    fn of_text(&self, value: Option<&str>) -> bool {
        match (self, value) {
            (Self::Text(Operator::Unequal, _), None) => true,
            (_, None) => false,
            (Self::Text(Operator::Contains, wanted), Some(value)) => value.contains(wanted),
            (Self::Text(operator, wanted), Some(value)) => operator.holds(Some(value.cmp(wanted))),
            (_, Some(_)) => true,
        }
    }

    fn of_value(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Text(Operator::Unequal, wanted), Some(Value::Array(items))) => {
                let equal = Self::Text(Operator::Equal, wanted.clone());
                !items.iter().any(|item| equal.of_value(Some(item)))
            }
            (Self::Text(..), Some(Value::Array(items))) => items.iter().any(|item| self.of_value(Some(item))),
            (Self::Text(..), Some(Value::Null | Value::Object(_)) | None) => self.of_text(None),
            (Self::Text(..), Some(Value::String(text))) => self.of_text(Some(text)),
            (Self::Text(..), Some(Value::Bool(flag))) => {
                self.of_text(Some(if *flag { "true" } else { "false" }))
            }
            (Self::Text(Operator::Contains, _), Some(Value::Number(number))) => {
                self.of_text(Some(&number.to_string()))
            }
            (Self::Text(operator, wanted), Some(Value::Number(number))) => {
                operator.holds(compare(number, wanted))
            }
            (_, value) => value.is_some(),
        }
    }
}

impl Operator {
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Unequal => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::AtMost => order.is_some_and(Ordering::is_le),
            Self::More => order == Some(Ordering::Greater),
            Self::AtLeast => order.is_some_and(Ordering::is_ge),
            Self::Contains => false,
        }
    }
}

/// Compares a number with one that is written: whole ones exactly, others as fractions.
fn compare(number: &Number, wanted: &str) -> Option<Ordering> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole, wanted.parse::<i128>()) {
        (Some(whole), Ok(wanted)) => Some(whole.cmp(&wanted)),
        _ => number.as_f64()?.partial_cmp(&wanted.parse().ok()?),
    }
}
