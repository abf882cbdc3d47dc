//! Equal texts: one stands for all.

use super::spool::Documents;

/// Classes of documents with the same units in the same order.
pub(super) struct Classes {
    /// The first of each document's class.
    pub(super) first: Vec<u32>,
    /// How many documents each stands for; none if another stands for it.
    pub(super) sizes: Vec<u32>,
    /// The members of classes with more than one, class by class, ascending.
    members: Vec<u32>,
    /// Where a class of more than one begins in `members`, by its first, ascending.
    starts: Vec<(u32, u32)>,
}

impl Classes {
    pub(super) fn find(documents: &Documents) -> Self {
        let count = documents.len();
        let mut first: Vec<u32> = (0..count).collect();
        let mut sizes = vec![1; count as usize];
        let entries = documents.entries.iter().zip(0..);
        // Digests with them: looked up one by one while they are sorted, they would be far apart.
        let mut order: Vec<(u128, u32)> =
            entries.filter(|(entry, _)| entry.units > 0).map(|(entry, at)| (entry.digest, at)).collect();
        order.sort_unstable();
        let mut classes: Vec<&[(u128, u32)]> =
            order.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() > 1).collect();
        classes.sort_unstable_by_key(|class| class[0].1);
        let (mut members, mut starts) = (Vec::new(), Vec::with_capacity(classes.len()));
        for class in classes {
            let own = class[0].1;
            starts.push((own, members.len() as u32));
            members.extend(class.iter().map(|&(_, member)| member));
            for &(_, member) in class {
                first[member as usize] = own;
                sizes[member as usize] = 0;
            }
            sizes[own as usize] = class.len() as u32;
        }
        Self { first, sizes, members, starts }
    }

    /// The members of the class that a document is the first of.
    pub(super) fn members<'c>(&'c self, first: &'c u32) -> &'c [u32] {
        match self.starts.binary_search_by_key(first, |&(own, _)| own) {
            Ok(at) => {
                let end = self.starts.get(at + 1).map_or(self.members.len(), |&(_, start)| start as usize);
                &self.members[self.starts[at].1 as usize..end]
            }
            Err(_) => std::slice::from_ref(first),
        }
    }
}
