//! The operations on the store in memory.

mod clusters;
mod exchange;
mod expired;
mod filters;
mod operations;
mod paging;
mod settings;
mod similar;
mod watched;

use super::judge::{Asking, Judged};
use super::{Collection, CollectionSettings, DetectError, Detector, Document, Evidence, Judge, When};
use crate::verdict::{Judgement, Verdict};
use leitong_fingerprint::Fingerprint;
use leitong_store::{Candidate, Memory, Want};
use std::sync::Arc;

/// A judge that reads: two texts that both have the mark are different.
pub(super) fn no_shared_mark(asked: Option<&str>, found: Option<&str>) -> Judgement {
    let marked = |text: Option<&str>| text.is_some_and(|text| text.contains('※'));
    let verdict = if marked(asked) && marked(found) { Verdict::Different } else { Verdict::Near };
    Judgement::new(verdict, "marks".into())
}

impl Collection {
    pub(super) fn judge_by_shared_mark<'a>(
        &self,
        cases: &[(Asking<'a>, &'a [Candidate])],
    ) -> Result<Vec<Judged>, DetectError> {
        let judge = |asking: &Asking<'_>, one: &Candidate| {
            let stored = self.store().get(self.name(), &[&one.record.id], Want::Text)?.pop().flatten();
            let text =
                stored.filter(|stored| stored.version == one.rank.version).and_then(|own| own.record.text);
            Ok(no_shared_mark(asking.text, text.as_deref()))
        };
        let all = |(asking, found): &(Asking<'a>, &'a [Candidate])| {
            let judgements =
                found.iter().map(|one| judge(asking, one)).collect::<Result<_, DetectError>>()?;
            Ok(Judged { judgements, origin: None })
        };
        cases.iter().map(all).collect()
    }
}

fn detector() -> Detector {
    Detector::new(Arc::new(Memory::default()))
}

fn collection() -> Collection {
    detector().create("news", &CollectionSettings::default()).unwrap()
}

fn judged_by(judge: Judge) -> Collection {
    detector().create("news", &CollectionSettings { judge, ..CollectionSettings::default() }).unwrap()
}

/// A document whose fingerprint is a number of our choice.
fn numbered(id: &str, simhash: u64) -> Document {
    Document::of_fingerprint(id, Fingerprint::from(simhash))
}

fn add(collection: &Collection, documents: Vec<Document>, when: When) -> Vec<bool> {
    let added = collection.add(documents, when, Evidence::None).unwrap();
    added.into_iter().map(|added| added.unwrap().outcome.is_stored()).collect()
}

const NEWS: &str = "昨天上午，市图书馆新馆在城东正式开馆，首批十二万册图书全部上架，市民凭身份证即可办理借阅手续。\
    馆长表示，新馆每周开放六天，周末还将举办面向儿童的绘本故事会，欢迎家长带孩子前来参加。";
const OTHER: &str = "本报讯 受冷空气影响，明天夜间起我市将迎来今年入冬以来最强的一次降温过程，气象部门提醒市民注意添衣保暖。\
    道路结冰路段请减速慢行，农户应当及时加固大棚，做好防冻准备工作，防止蔬菜受损影响市场供应。";
