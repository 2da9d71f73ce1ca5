//! The difference of two values, for a message that a person reads.

use std::fmt::Debug;
use std::ops::Range;

/// Lists with more elements are shown around their first difference only.
const ELEMENTS: usize = 16;
/// Elements that are shown before the first difference, and in all.
const BEFORE: usize = 2;
const SHOWN: usize = 8;
/// Texts with more characters are shown around their first difference only.
const CHARACTERS: usize = 160;
/// Characters that are shown before the first difference, and from there on.
const AHEAD: usize = 40;
const BEHIND: usize = 80;

/// The difference of two values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The place and the extent of the difference; empty if the values are shown whole.
    pub(crate) summary: String,
    /// The expected value, or a part of it.
    pub(crate) expected: String,
    /// The value found, or the same part of it.
    pub(crate) found: String,
}

impl Difference {
    /// The difference of two values that are not equal.
    pub(crate) fn of<T: Debug>(expected: &T, found: &T) -> Difference {
        Difference::of_texts(format!("{expected:?}"), format!("{found:?}"))
    }

    fn of_texts(expected: String, found: String) -> Difference {
        let lists = elements(&expected).zip(elements(&found));
        let is_long = |text: &str| text.chars().nth(CHARACTERS).is_some();
        match lists {
            Some((expected, found)) if expected.len().max(found.len()) > ELEMENTS => {
                Difference::of_lists(&expected, &found)
            }
            _ if is_long(&expected) || is_long(&found) => Difference::of_long(&expected, &found),
            _ => Difference {
                summary: String::new(),
                expected,
                found,
            },
        }
    }

    fn of_lists(expected: &[&str], found: &[&str]) -> Difference {
        let common = expected.len().min(found.len());
        let mut differing = (0..common).filter(|&index| expected[index] != found[index]);
        let first = differing.next();
        let (count, last) = first.map_or((0, common), |first| {
            differing.fold((1, first), |(count, _), index| (count + 1, index))
        });
        let summary = match (first, expected.len() == found.len()) {
            (Some(first), true) => {
                format!(
                    "{count} of {common} elements differ, the first at {first}, the last at {last}"
                )
            }
            (None, true) => format!("the {common} elements are not equal, but have the same text"),
            (Some(first), false) => format!(
                "{} elements in place of {}; {count} of the first {common} differ, the first at \
                 {first}",
                found.len(),
                expected.len()
            ),
            (None, false) => format!(
                "{} elements in place of {}; the first {common} are equal",
                found.len(),
                expected.len()
            ),
        };
        // The elements around the first difference, or around the end of the shorter list.
        let begin = first.unwrap_or(if expected.len() == found.len() {
            0
        } else {
            common
        });
        let begin = begin.saturating_sub(BEFORE);
        let part = |list: &[&str]| {
            let end = list.len().min(begin + SHOWN);
            format!("[{}] at {begin}", list[begin.min(end)..end].join(", "))
        };
        let (expected, found) = around(&part(expected), &part(found));
        Difference {
            summary,
            expected,
            found,
        }
    }

    fn of_long(expected: &str, found: &str) -> Difference {
        let length = |text: &str| text.chars().count();
        let summary = match first_difference(expected, found) {
            Some(first) => format!(
                "the texts of {} and {} characters differ first at character {first}",
                length(expected),
                length(found)
            ),
            None => format!(
                "the values are not equal, but have the same text of {} characters",
                length(expected)
            ),
        };
        let (expected, found) = around(expected, found);
        Difference {
            summary,
            expected,
            found,
        }
    }
}

/// Number of the first character that differs.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    let (mut ones, mut others) = (one.chars(), other.chars());
    (0..).find_map(|index| match (ones.next(), others.next()) {
        (None, None) => Some(None),
        (a, b) if a != b => Some(Some(index)),
        _ => None,
    })?
}

/// The parts of two texts around their first difference; short texts are whole.
fn around(one: &str, other: &str) -> (String, String) {
    let first = first_difference(one, other).unwrap_or(0);
    let shown = first.saturating_sub(AHEAD)..first + BEHIND;
    (cut(one, &shown), cut(other, &shown))
}

/// The shown part of a text, with a mark for each part that is left out.
fn cut(text: &str, shown: &Range<usize>) -> String {
    let count = text.chars().count();
    if count <= CHARACTERS {
        return text.to_owned();
    }
    let part: String = text.chars().take(shown.end).skip(shown.start).collect();
    let mark = |is_cut: bool| if is_cut { "..." } else { "" };
    format!("{}{part}{}", mark(shown.start > 0), mark(shown.end < count))
}

/// The texts of the elements, if the text is that of a list.
fn elements(text: &str) -> Option<Vec<&str>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let mut elements = Vec::new();
    let (mut begin, mut depth) = (0, 0_usize);
    let mut characters = inner.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.checked_sub(1)?,
            // A text or a character, in which a backslash comes before its end mark.
            '"' | '\'' => loop {
                match characters.next()?.1 {
                    '\\' => drop(characters.next()),
                    end if end == character => break,
                    _ => {}
                }
            },
            ',' if depth == 0 => {
                elements.push(inner[begin..at].trim_start());
                begin = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return None;
    }
    if !inner.is_empty() {
        elements.push(inner[begin..].trim_start());
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::Difference;

    fn difference<T: std::fmt::Debug>(expected: T, found: T) -> [String; 3] {
        let Difference {
            summary,
            expected,
            found,
        } = Difference::of(&expected, &found);
        [summary, expected, found]
    }

    #[test]
    fn short_values_are_shown_whole() {
        let numbers: Vec<u32> = (0..16).collect();
        let text = format!("{numbers:?}");
        assert_eq!(
            difference(numbers, vec![]),
            ["", text.as_str(), "[]"].map(str::to_owned)
        );
        assert_eq!(difference(1.5, 2.0), ["", "1.5", "2.0"]);
        assert_eq!(
            difference("one, \"two\"", "]"),
            ["", "\"one, \\\"two\\\"\"", "\"]\""]
        );
    }

    #[test]
    fn long_lists_are_shown_around_their_first_difference() {
        let expected: Vec<u32> = (0..1000).collect();
        let mut found = expected.clone();
        (found[500], found[700]) = (7, 8);
        assert_eq!(
            difference(expected.clone(), found.clone()),
            [
                "2 of 1000 elements differ, the first at 500, the last at 700",
                "[498, 499, 500, 501, 502, 503, 504, 505] at 498",
                "[498, 499, 7, 501, 502, 503, 504, 505] at 498",
            ]
        );
        found.truncate(600);
        assert_eq!(
            difference(&expected[..], &found[..]),
            [
                "600 elements in place of 1000; 1 of the first 600 differ, the first at 500",
                "[498, 499, 500, 501, 502, 503, 504, 505] at 498",
                "[498, 499, 7, 501, 502, 503, 504, 505] at 498",
            ]
        );
        assert_eq!(
            difference(&expected[..17], &expected[..3]),
            [
                "3 elements in place of 17; the first 3 are equal",
                "[1, 2, 3, 4, 5, 6, 7, 8] at 1",
                "[1, 2] at 1",
            ]
        );
        // The first element and the last one.
        let (mut one, two) = ([0_u8; 17], [0_u8; 17]);
        (one[0], one[16]) = (1, 1);
        assert_eq!(
            difference(one, two)[0],
            "2 of 17 elements differ, the first at 0, the last at 16"
        );
        one[0] = 0;
        assert_eq!(
            difference(one, two)[1..],
            ["[0, 0, 1] at 14", "[0, 0, 0] at 14"]
        );
    }

    #[test]
    fn elements_of_any_kind_are_counted() {
        let expected: Vec<_> = (0..20).map(|at| (at, "a, ]\"", ',', [1, 2])).collect();
        let mut found = expected.clone();
        found[19].2 = '\'';
        let [summary, _, found] = difference(expected, found);
        assert_eq!(
            summary,
            "1 of 20 elements differ, the first at 19, the last at 19"
        );
        assert!(
            found.contains("(19, \"a, ]\\\"\", '\\'', [1, 2])"),
            "{found}"
        );
        let equal = [f64::NAN; 20];
        assert_eq!(
            difference(equal, equal)[0],
            "the 20 elements are not equal, but have the same text"
        );
    }

    #[test]
    fn long_texts_are_cut_around_their_first_difference() {
        let expected = "ä".repeat(1000);
        let found = format!("{}b", "ä".repeat(400));
        let [summary, expected, found] = difference(expected, found);
        assert_eq!(
            summary,
            "the texts of 1002 and 403 characters differ first at character 401"
        );
        assert_eq!(expected, format!("...{}...", "ä".repeat(120)));
        assert_eq!(found, format!("...{}b\"", "ä".repeat(40)));
        // Long elements of a short list, and of a long one.
        let mut found = vec![vec![0; 1000]; 2];
        found[1][999] = 7;
        let [summary, _, found] = difference(vec![vec![0; 1000]; 2], found);
        assert!(summary.contains("differ first at character"), "{summary}");
        assert!(found.ends_with("0, 0, 0, 7]]"), "{found}");
        assert!(found.len() < 200, "{found}");
        let mut found = vec![[0; 1000]; 20];
        found[1][999] = 7;
        let [summary, _, found] = difference(vec![[0; 1000]; 20], found);
        assert!(summary.starts_with("1 of 20 elements differ"), "{summary}");
        assert!(found.contains("0, 0, 7]"), "{found}");
        assert!(found.len() < 200, "{found}");
    }

    /// A text of brackets and quotes that do not match is no list.
    #[test]
    fn any_text_has_a_difference() {
        for text in ["[", "]", "[)]", "[(]", "[\"]", "['\\", "[]]", "", "[,]"] {
            let long = text.repeat(200);
            let whole = Difference::of_texts(long.clone(), format!("{long}x"));
            assert!(whole.expected.len() < 200, "{whole:?}");
            let (other, text) = (format!("[{text}"), text.to_owned());
            assert_eq!(Difference::of_texts(text, other).summary, "");
        }
    }
}
