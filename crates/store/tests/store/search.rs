//! The stores in OpenSearch and Elasticsearch: everything a store promises, on real servers, one after the other; and what is
//! their own: clients that stop between two steps, servers that refuse.

mod articles;
mod crashes;
mod failover;
mod lost;
mod many;
mod refusals;
mod secured;
mod subject;

use crate::conformance::conforms;
use crate::histories::{self, Load};
use crate::servers::Kind;
use crate::{amount, errors, ids, marked};
use subject::{Clients, with_new, with_server};

fn all(url: &str, cases: u32, load: Load) {
    with_new(url, |store| ids::kept_apart(store));
    with_new(url, |store| ids::refused(store));
    with_new(url, |store| errors::no_collection(store));
    with_new(url, |store| errors::other_collection(store));
    with_new(url, |store| errors::misfits(store));
    with_new(url, |store| many::as_one_after_the_other(store));
    conforms(cases, &|clock| Box::new(Clients::new(url, clock)));
    with_new(url, |store| histories::one_of_many(store, load));
    with_new(url, |store| marked::one_of_many(store, load));
    with_new(url, |store| histories::chains(store, load));
    with_new(url, |store| histories::mixed(store, load));
    crashes::between_any_two_steps(url);
    crashes::stored_while_another_looks(url);
    lost::on_the_way(url);
    refusals::all(url);
    articles::all(url);
}

fn short() -> Load {
    Load { threads: 8, rounds: amount(2, 1), calls: 5 }
}

#[test]
fn opensearch_2() {
    with_server(Kind::OpenSearch2, |url| {
        all(url, amount(40, 6), Load { threads: 16, rounds: amount(6, 2), calls: 10 });
    });
}

#[test]
fn opensearch_3() {
    with_server(Kind::OpenSearch3, |url| all(url, amount(10, 3), short()));
}

#[test]
fn elasticsearch_7() {
    with_server(Kind::Elastic7, |url| all(url, amount(10, 3), short()));
}

#[test]
fn elasticsearch_8() {
    with_server(Kind::Elastic8, |url| all(url, amount(10, 3), short()));
}

#[test]
fn elasticsearch_9() {
    with_server(Kind::Elastic9, |url| all(url, amount(10, 3), short()));
}
