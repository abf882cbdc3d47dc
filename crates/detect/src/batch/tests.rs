use super::*;

fn quiet(_: Stage, _: u64, _: u64) {}

fn run(texts: &[&str], memory: u64) -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    let mut corpus = Corpus::open(&Options { folder: folder.path().to_owned(), memory }).unwrap();
    let documents: Vec<(String, String)> =
        texts.iter().enumerate().map(|(at, text)| (at.to_string(), (*text).to_owned())).collect();
    corpus.push(&documents).unwrap();
    let run = corpus.finish(&quiet).unwrap();
    (folder, run)
}

const LIBRARY: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\
    馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。";
const COLD: &str = "本报讯 受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\
    道路结冰路段请减速慢行，农户应当及时加固大棚，做好防冻准备工作，防止蔬菜受损影响市场供应。";

fn fates(texts: &[&str], preference: Option<&[u64]>) -> Vec<Fate> {
    let (_folder, run) = run(texts, 1 << 26);
    run.select(preference, &quiet, &mut |_| Ok(())).unwrap().fates
}

#[test]
fn the_first_of_copies_stays() {
    let edited = LIBRARY.replace("正式开馆", "对外开放");
    let spaced = LIBRARY.replace('，', " ");
    let texts = [LIBRARY, COLD, &edited, &spaced, "", ""];
    let expected = [Fate::Stays, Fate::Stays, Fate::Goes(0), Fate::Goes(0), Fate::Stays, Fate::Stays];
    assert_eq!(fates(&texts, None), expected);
    let last_first: Vec<u64> = (0..6).rev().collect();
    let expected = [Fate::Goes(3), Fate::Stays, Fate::Goes(3), Fate::Stays, Fate::Stays, Fate::Stays];
    assert_eq!(fates(&texts, Some(&last_first)), expected, "the last is preferred");
}

#[test]
fn the_container_stays() {
    let both = format!("{COLD}\n{LIBRARY}{COLD}");
    let edited = LIBRARY.replace("正式开馆", "对外开放");
    let fates = fates(&[LIBRARY, &edited, &both], None);
    assert_eq!(fates, [Fate::Goes(2), Fate::Goes(2), Fate::Stays]);
}
