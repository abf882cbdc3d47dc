//! Two texts with their shared passages in colour; long ones shortened around what is shared and what differs.

use crate::output::html::escape;
use leitong_detect::compare::SharedPassage;
use std::fmt::Write;
use std::ops::Range;

/// Characters of a text that are shown.
const MOST: usize = 4000;
/// What is kept at either end of a long stretch, tried until the text is short enough.
const ENDS: [usize; 6] = [600, 300, 150, 80, 40, 20];
/// Colours of passages, one after another and then again.
const COLOURS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// In no passage.
    Alone,
    /// In a passage, the same on both sides.
    Same(usize),
    /// In a passage, but different.
    Other(usize),
    /// Left out.
    Left,
}

/// A stretch of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    kind: Kind,
    at: Range<usize>,
}

/// The equal stretches of a passage on one side, and whether both sides differ before each.
type Runs = Vec<(Range<usize>, bool)>;

/// The text that stays and the one that goes, as HTML. The passages are those of the one that goes with the one that stays.
pub(super) fn sides(stays: &str, goes: &str, passages: &[SharedPassage]) -> (String, String) {
    let (stays, goes): (Vec<char>, Vec<char>) = (stays.chars().collect(), goes.chars().collect());
    let mut ordered: Vec<&SharedPassage> = passages.iter().collect();
    ordered.sort_by_key(|passage| (passage.b.start, passage.a.start));
    let (mut of_stays, mut of_goes) = (Vec::new(), Vec::new());
    for (number, passage) in ordered.into_iter().enumerate() {
        let (mut in_stays, mut in_goes): (Runs, Runs) = (Vec::new(), Vec::new());
        let mut before: Option<(usize, usize)> = None;
        for run in &passage.equal {
            let (mut own, mut other, mut differ) = (run.a.clone(), run.b.clone(), false);
            if let Some((a, b)) = before {
                let gaps = (gap(&goes, a..own.start), gap(&stays, b..other.start));
                differ = letters(gaps.0) != letters(gaps.1);
                let (head, tail) = same_ends(gaps.0, gaps.1);
                for runs in [&mut in_goes, &mut in_stays] {
                    runs.iter_mut().last().into_iter().for_each(|(run, _)| run.end += head);
                }
                (own.start, other.start) = (own.start - tail, other.start - tail);
            }
            before = Some((own.end, other.end));
            in_goes.push((own, differ));
            in_stays.push((other, differ));
        }
        of_stays.push((number, in_stays));
        of_goes.push((number, in_goes));
    }
    (side(&stays, of_stays), side(&goes, of_goes))
}

/// What lies between two equal stretches.
fn gap(text: &[char], range: Range<usize>) -> &[char] {
    text.get(range).unwrap_or_default()
}

/// What counts of a stretch.
fn letters(text: &[char]) -> String {
    text.iter().filter(|c| c.is_alphanumeric()).flat_map(|c| c.to_lowercase()).collect()
}

/// How many characters at the beginning, and at the end behind them, both have: punctuation, which the alignment does not see.
fn same_ends(a: &[char], b: &[char]) -> (usize, usize) {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    (head, tail)
}

fn side(text: &[char], passages: Vec<(usize, Runs)>) -> String {
    let mut pieces = pieces(text.len(), passages);
    if text.len() > MOST {
        pieces = shortened(&pieces);
    }
    html(text, &pieces)
}

fn pieces(length: usize, mut passages: Vec<(usize, Runs)>) -> Vec<Piece> {
    passages.sort_by_key(|(_, runs)| runs.first().map_or(0, |(run, _)| run.start));
    let mut out: Vec<Piece> = Vec::new();
    let mut at = 0;
    for (number, runs) in passages {
        for (place, (run, differ)) in runs.into_iter().enumerate() {
            let (from, to) = (run.start.clamp(at, length), run.end.clamp(at, length));
            let between = match (place, differ) {
                (0, _) => Kind::Alone,
                (_, true) => Kind::Other(number),
                (_, false) => Kind::Same(number),
            };
            push(&mut out, between, at..from);
            push(&mut out, Kind::Same(number), from..to);
            at = to.max(at);
        }
    }
    push(&mut out, Kind::Alone, at..length);
    out
}

fn push(out: &mut Vec<Piece>, kind: Kind, at: Range<usize>) {
    match out.last_mut() {
        // Where only the other side has something the place is marked all the same.
        _ if at.is_empty() && !matches!(kind, Kind::Other(_)) => {}
        Some(last) if last.kind == kind && last.at.end == at.start => last.at.end = at.end,
        _ => out.push(Piece { kind, at }),
    }
}

/// Leaves out the middle of long stretches, and the end if that is not enough.
fn shortened(pieces: &[Piece]) -> Vec<Piece> {
    let shown = |pieces: &[Piece]| -> usize {
        pieces.iter().filter(|piece| piece.kind != Kind::Left).map(|piece| piece.at.len()).sum()
    };
    let mut out = Vec::new();
    for ends in ENDS {
        out = pieces.iter().flat_map(|piece| without_middle(piece, ends)).collect();
        if shown(&out) <= MOST {
            return out;
        }
    }
    let mut room = MOST;
    let fits = |piece: &Piece| {
        let length = if piece.kind == Kind::Left { 0 } else { piece.at.len() };
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let end = out.last().map_or(0, |piece| piece.at.end);
    let count = out.iter().map(fits).position(|fits| !fits).unwrap_or(out.len());
    let from = out.get(count).map_or(end, |piece| piece.at.start);
    out.truncate(count);
    push(&mut out, Kind::Left, from..end);
    out
}

fn without_middle(piece: &Piece, ends: usize) -> Vec<Piece> {
    let (kind, at) = (piece.kind, piece.at.clone());
    if at.len() <= 2 * ends + 40 {
        return vec![piece.clone()];
    }
    let (head, tail) = (at.start + ends, at.end - ends);
    vec![
        Piece { kind, at: at.start..head },
        Piece { kind: Kind::Left, at: head..tail },
        Piece { kind, at: tail..at.end },
    ]
}

fn html(text: &[char], pieces: &[Piece]) -> String {
    let mut out = String::with_capacity(text.len().min(MOST) * 4);
    let (mut open, mut begun): (Option<usize>, Vec<usize>) = (None, Vec::new());
    for piece in pieces {
        let passage = match piece.kind {
            Kind::Alone => None,
            Kind::Same(number) | Kind::Other(number) => Some(number),
            // What is left out of a passage belongs to it.
            Kind::Left => open,
        };
        if open != passage {
            out.push_str(if open.is_some() { "</mark>" } else { "" });
            if let Some(number) = passage {
                let (class, name) = (number % COLOURS, number + 1);
                let _ = write!(out, "<mark class=\"c{class}\" data-p=\"{name}\" tabindex=\"0\">");
                if !begun.contains(&number) {
                    let _ = write!(out, "<sup>{name}</sup>");
                    begun.push(number);
                }
            }
            open = passage;
        }
        let own = escape(&text[piece.at.clone()].iter().collect::<String>());
        let _ = match piece.kind {
            Kind::Other(_) if piece.at.is_empty() => write!(out, "<s></s>"),
            Kind::Other(_) => write!(out, "<u>{own}</u>"),
            Kind::Left => write!(out, "<em class=\"left\">{} characters</em>", piece.at.len()),
            _ => write!(out, "{own}"),
        };
    }
    out.push_str(if open.is_some() { "</mark>" } else { "" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_detect::verify::shared_passages;

    fn of(stays: &str, goes: &str) -> (String, String) {
        sides(stays, goes, &shared_passages(goes, stays))
    }

    fn plain(html: &str) -> String {
        let mut out = String::new();
        let mut inside = false;
        for c in html.replace("<sup>1</sup>", "").chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => out.push(c),
                _ => {}
            }
        }
        out
    }

    const TEXT: &str = "市图书馆新馆今天正式开馆，市民可以凭身份证免费借阅图书，每次最多十本，借期三十天。";

    #[test]
    fn the_same_passage_has_the_same_colour_on_both_sides() {
        let (stays, goes) = of(TEXT, &TEXT.replace("免费借阅", "付费借阅"));
        for side in [&stays, &goes] {
            assert!(side.contains("<mark class=\"c0\" data-p=\"1\" tabindex=\"0\"><sup>1</sup>"), "{side}");
        }
        assert!(stays.contains("<u>免</u>") && goes.contains("<u>付</u>"), "{stays} {goes}");
        assert_eq!(plain(&stays), TEXT);
    }

    #[test]
    fn what_only_one_side_has_leaves_a_mark_on_the_other() {
        let (stays, goes) = of(TEXT, &TEXT.replace("每次最多", "每次每人最多"));
        assert!(goes.contains("<u>每人</u>") || goes.contains("<u>次每</u>"), "{goes}");
        assert!(stays.contains("<s></s>"), "{stays}");
    }

    #[test]
    fn punctuation_beside_a_difference_is_none() {
        let (stays, goes) =
            of(TEXT, &TEXT.replace("开馆，市民", "开馆，全市市民").replace("图书，每次", "书，每次"));
        assert!(
            goes.contains("馆，<u>") && !goes.contains("<u>，") && !stays.contains("<u>，"),
            "{goes} {stays}"
        );
        assert_eq!(plain(&stays), TEXT);
    }

    #[test]
    fn markup_in_texts_is_text() {
        let hostile = format!("<script>alert(1)</script>{TEXT}</script><img src=x onerror=alert(1)>\u{202e}");
        let (stays, goes) = of(&hostile, TEXT);
        assert!(!stays.contains("<script") && !stays.contains("<img") && stays.contains("&lt;script&gt;"));
        assert_eq!(plain(&goes), TEXT);
    }

    #[test]
    fn long_texts_are_shortened_around_the_passages() {
        let before: String = (0..9000).map(|at| char::from_u32(0x4e00 + at * 2).unwrap()).collect();
        let after: String = (0..9000).map(|at| char::from_u32(0x4e01 + at * 2).unwrap()).collect();
        let (stays, goes) = of(&format!("{before}{TEXT}"), &format!("{TEXT}{after}"));
        for side in [&stays, &goes] {
            assert!(side.contains("市图书馆") && side.contains("characters</em>"));
            assert!(plain(side).chars().count() < MOST + 100);
        }
        let same: String = before.chars().take(8000).collect();
        let (stays, _) = of(&same, &same.replace('乀', "x"));
        assert!(stays.contains("characters</em>") && plain(&stays).chars().count() < MOST + 100);
    }

    #[test]
    fn many_small_passages_are_cut_at_the_end() {
        let text: Vec<Piece> = (0..3000)
            .map(|at| {
                let kind = if at % 2 == 0 { Kind::Alone } else { Kind::Same(at) };
                Piece { kind, at: at * 10..at * 10 + 10 }
            })
            .collect();
        let out = shortened(&text);
        assert_eq!(out.last(), Some(&Piece { kind: Kind::Left, at: MOST..30_000 }));
    }
}
