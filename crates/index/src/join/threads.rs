//! Work on several threads.

/// Does `work` for every task, each on a thread of its own, the first on this one. Results come in the order of the
/// tasks.
pub(super) fn on_threads<I: Send, O: Send>(tasks: Vec<I>, work: impl Fn(I) -> O + Sync) -> Vec<O> {
    let mut tasks = tasks.into_iter();
    let Some(first) = tasks.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = tasks.map(|task| scope.spawn(move || work(task))).collect();
        let mut results = vec![work(first)];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}
