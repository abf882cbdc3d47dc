use super::*;
use std::process::Command;

/// Pairs that are less and less alike, a document that equals another, and one that is hostile.
fn corpus(room: &Room) {
    let mut documents = Vec::new();
    for number in 0..12 {
        let own = text(number + 1);
        let changed: String = own
            .chars()
            .enumerate()
            .map(|(at, c)| if at % 30 == 7 && at / 30 < number as usize / 2 { '〇' } else { c })
            .collect();
        documents.push(document(&format!("first{number}"), &own));
        documents.push(document(&format!("second{number}"), &format!("{changed}本报讯")));
    }
    documents.push(document("equal", &reprinted(1)));
    let hostile =
        "<script>document.title='taken'</script></script><img src=x onerror=\"document.title='taken'\">";
    documents.push(document(
        &format!("bad\"{hostile}"),
        &format!("{hostile}{}{{{{clusters}}}}{hostile}", text(3)),
    ));
    documents.iter_mut().for_each(|document| document["site"] = format!("site{hostile}").into());
    room.jsonl("in.jsonl", &documents);
}

fn page(room: &Room) -> String {
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html", "--source", "site", "--force"]);
    room.read("r.html")
}

#[test]
fn one_page_with_everything_in_it() {
    let room = Room::new();
    corpus(&room);
    let page = page(&room);
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("unsafe-inline"));
    assert!(page.contains("of 26 documents go") && page.contains("Sources that lose most"));
    for loaded in [
        "<script src",
        "<link",
        "<iframe",
        "<object",
        "href=\"http",
        "url(",
        "@import",
        " style=\"",
        " onclick",
    ] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    assert!(page.contains("<mark class=\"c0\" data-p=\"1\"") && page.contains("<u>〇</u>"), "passages");
    assert!(page.contains("data-id=\"second0\" data-verdict=\"near\"") && page.contains("Jaccard"));
}

#[test]
fn texts_are_never_markup() {
    let room = Room::new();
    corpus(&room);
    let page = page(&room);
    // The data and the program: nothing that a document says begins or ends either.
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert!(!page.contains("<img") && page.contains("&lt;img src=x onerror"));
    assert_eq!(page.matches("id=\"data\"").count(), 1);
}

#[test]
fn the_same_page_for_any_number_of_threads() {
    let room = Room::new();
    room.jsonl("in.jsonl", &many(500));
    let mut pages = ["1", "4"].iter().map(|threads| {
        room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html", "--threads", threads]);
        room.read("r.html")
    });
    assert!(pages.next() == pages.next());
}

#[test]
fn many_groups_and_large_ones_are_cut_and_the_page_says_so() {
    let room = Room::new();
    let mut documents: Vec<Value> = (0..250)
        .flat_map(|at| [document(&format!("a{at}"), &text(at)), document(&format!("b{at}"), &edited(at))])
        .collect();
    documents.extend((0..100).map(|at| document(&format!("copy{at}"), &text(7))));
    room.jsonl("in.jsonl", &documents);
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html"]);
    let page = room.read("r.html");
    assert_eq!(page.matches("<article").count(), 200);
    for said in [
        "The 200 largest of 250 groups",
        "and 50 smaller groups",
        "and 36 more, which the file of --removed names",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn long_texts_are_shortened() {
    let room = Room::new();
    let long: String = (0..60).map(text).collect();
    room.jsonl("in.jsonl", &[document("part", &text(30)), document("whole", &long)]);
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html"]);
    let page = room.read("r.html");
    assert!(page.contains(" characters</em>") && page.len() < 120_000, "{}", page.len());
}

#[test]
fn nothing_to_report() {
    let room = Room::new();
    room.write("in.jsonl", "");
    room.good(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "r.html"]);
    assert!(room.read("r.html").contains("No document goes"));
}

#[test]
fn a_page_that_cannot_be_written_is_said_before_the_work() {
    let room = Room::new();
    room.jsonl("in.jsonl", &five());
    let run = room.run(&["dedup", "in.jsonl", "-o", "out.jsonl", "--report", "nowhere/r.html"]);
    assert!(run.code == 3 && run.err.contains("nowhere/r.html"), "{}", run.err);
    assert_eq!(room.names(), ["in.jsonl"]);
}

/// The page after its script has run, as a browser has it.
fn in_browser(room: &Room, fragment: &str) -> Option<String> {
    let url = format!("file://{}#{fragment}", room.at("r.html").display());
    let profile = format!("--user-data-dir={}", room.at("profile").display());
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"];
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let made = browsers
        .iter()
        .find_map(|name| Command::new(name).args(flags).args([&profile, &url]).output().ok())?;
    Some(String::from_utf8_lossy(&made.stdout).into_owned()).filter(|page| page.contains("</html>"))
}

/// A number that the page shows.
fn shown(page: &str, id: &str) -> u64 {
    let (_, after) = page.split_once(&format!("<b id=\"{id}\">")).unwrap();
    after.split('<').next().unwrap().replace(',', "").parse().unwrap()
}

#[test]
fn the_threshold_counts_what_a_run_counts() {
    let room = Room::new();
    corpus(&room);
    page(&room);
    let pairs: Vec<Value> = room
        .good(&["pairs", "in.jsonl", "--json"])
        .json()
        .into_iter()
        .filter(|pair| pair["verdict"] != "exact")
        .collect();
    let count = |signal: &str, fits: &dyn Fn(f64) -> bool| {
        pairs.iter().filter(|pair| pair[signal].as_f64().is_some_and(fits)).count() as u64
    };
    for (fragment, signal, fits) in [
        ("signal=jaccard&at=0.5", "jaccard", &(|score| score >= 0.5) as &dyn Fn(f64) -> bool),
        ("signal=jaccard&at=0.93", "jaccard", &|score| score >= 0.93),
        ("signal=containment&at=0.97", "containment", &|score| score >= 0.97),
        ("signal=distance&at=4", "distance", &|bits| bits <= 4.0),
    ] {
        let Some(page) = in_browser(&room, fragment) else {
            println!("skipped: the threshold of the report (needs chromium)");
            return;
        };
        // Pairs with the text that equals another are counted once here.
        let equal = |id: &str| id == "equal";
        let twice = pairs
            .iter()
            .filter(|pair| pair["a"].as_str().is_some_and(equal) || pair["b"].as_str().is_some_and(equal));
        let twice = twice.filter(|pair| pair[signal].as_f64().is_some_and(fits)).count() as u64;
        assert_eq!(shown(&page, "pairs"), count(signal, fits) - twice, "{fragment}");
        let title = page.split_once("<title>").unwrap().1;
        assert!(title.starts_with("Leitong:"), "no script of a document ran");
    }
    let all = in_browser(&room, "signal=jaccard&at=0.01").unwrap();
    let some = in_browser(&room, "signal=jaccard&at=0.9&id=second3&verdict=near").unwrap();
    assert!(shown(&all, "go") > shown(&some, "go") && shown(&some, "go") >= 1);
    assert!(some.contains("1 in 1 group"), "the search finds one");
    assert!(some.contains("data-id=\"second3\" data-verdict=\"near\" open"), "and opens it");
}
