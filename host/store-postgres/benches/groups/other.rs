//! The same groups by the other ways that were weighed: `tokio-postgres`, which can send a statement before the one before
//! is answered, and one statement with data-modifying CTEs. They write what these groups have, and nothing else.

use futures::AllAnswers;
use rialto_engine::store::Group;
use sqlx::PgConnection;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Statement};

/// The columns of a group of this benchmark.
pub struct Rows {
    lsn: i64,
    next_id: i64,
    entry: Vec<u8>,
    collections: (Vec<i64>, Vec<String>, Vec<String>),
    documents: (Vec<i64>, Vec<String>, Vec<i64>, Vec<String>),
    outbound: (Vec<i64>, Vec<String>),
    outbound_removed: Vec<i64>,
    receipts: (Vec<i64>, Vec<String>, Vec<i64>, Vec<String>),
    subjects: Vec<String>,
}

impl Rows {
    pub fn of(group: &Group) -> Self {
        let number = |n: u64| i64::try_from(n).unwrap();
        let plain = postcard::to_extend(&group.history, Vec::new()).unwrap();
        let mut subjects: Vec<String> = group
            .history
            .iter()
            .map(|record| record.subjects[0].to_string())
            .collect();
        subjects.dedup();
        let mut rows = Self {
            lsn: number(group.lsn.0),
            next_id: number(group.next_id),
            entry: lz4_flex::block::compress_prepend_size(&plain),
            collections: Default::default(),
            documents: Default::default(),
            outbound: Default::default(),
            outbound_removed: group.outbound_removed.iter().map(|n| number(*n)).collect(),
            receipts: Default::default(),
            subjects,
        };
        for collection in &group.collections {
            rows.collections.0.push(i64::from(collection.id.0));
            rows.collections.1.push(collection.component.to_string());
            rows.collections.2.push(collection.name.to_string());
        }
        for document in &group.documents {
            rows.documents.0.push(i64::from(document.collection.0));
            rows.documents.1.push(document.id.to_string());
            rows.documents.2.push(number(document.version));
            let body = document.body.as_deref().unwrap();
            rows.documents.3.push(body.to_owned());
        }
        for request in &group.outbound_added {
            rows.outbound.0.push(number(request.id));
            let request = serde_json::to_string(&**request).unwrap();
            rows.outbound.1.push(request);
        }
        for receipt in &group.receipts {
            rows.receipts.0.push(number(receipt.id));
            rows.receipts.1.push(receipt.subject.to_string());
            rows.receipts.2.push(number(receipt.at.0));
            rows.receipts.3.push(receipt.body.to_string());
        }
        rows
    }
}

const SETTINGS: &str =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan";

const HEAD: &str = "UPDATE rialto.partitions SET seq = $3, lsn = $4, next_id = $5
    WHERE partition = $1 AND epoch = $2 AND seq = $3 - 1";
const JOURNAL: &str = "INSERT INTO rialto.journal VALUES ($1, $3, $2, $4, $5, 1, 1, $6, now())";
const DOCUMENTS: &str = "INSERT INTO rialto.documents
    SELECT $1, * FROM unnest($2::int8[], $3::text[], $4::int8[], $5::text[])
    ON CONFLICT (partition, collection, id) DO UPDATE SET version = excluded.version, body = excluded.body";
const OUTBOUND: &str =
    "INSERT INTO rialto.outbound SELECT $1, * FROM unnest($2::int8[], $3::text[])";
const REPORTED: &str = "DELETE FROM rialto.outbound WHERE partition = $1 AND id = ANY ($2::int8[])";
const RECEIPTS: &str = "INSERT INTO rialto.receipts
    SELECT $1, *, now() FROM unnest($2::int8[], $3::text[], $4::int8[], $5::text[])";
const SUBJECTS: &str = "INSERT INTO rialto.history_subjects
    SELECT $1, subject, $2, now() FROM unnest($3::text[]) AS subject";

const CTES: &str = "WITH head AS (
        UPDATE rialto.partitions SET seq = $3, lsn = $4, next_id = $5
        WHERE partition = $1 AND epoch = $2 AND seq = $3 - 1 RETURNING partition),
    journal AS (
        INSERT INTO rialto.journal SELECT $1, $3, $2, $4, $5, 1, 1, $6, now() FROM head),
    documents AS (
        INSERT INTO rialto.documents
        SELECT head.partition, d.* FROM head, unnest($7::int8[], $8::text[], $9::int8[], $10::text[]) d
        ON CONFLICT (partition, collection, id) DO UPDATE SET version = excluded.version, body = excluded.body),
    outbound AS (
        INSERT INTO rialto.outbound SELECT head.partition, o.* FROM head, unnest($11::int8[], $12::text[]) o),
    reported AS (
        DELETE FROM rialto.outbound WHERE partition = (SELECT partition FROM head) AND id = ANY ($13::int8[])),
    receipts AS (
        INSERT INTO rialto.receipts
        SELECT head.partition, r.*, now() FROM head, unnest($14::int8[], $15::text[], $16::int8[], $17::text[]) r),
    subjects AS (
        INSERT INTO rialto.history_subjects
        SELECT head.partition, s, $3, now() FROM head, unnest($18::text[]) s)
    SELECT count(*) FROM head";

/// Write a group by one statement with CTEs.
pub async fn with_ctes(connection: &mut PgConnection, rows: &Rows, epoch: i64, seq: i64) {
    let written: i64 = sqlx::query_scalar(CTES)
        .bind(0i32)
        .bind(epoch)
        .bind(seq)
        .bind(rows.lsn)
        .bind(rows.next_id)
        .bind(&rows.entry)
        .bind(&rows.documents.0)
        .bind(&rows.documents.1)
        .bind(&rows.documents.2)
        .bind(&rows.documents.3)
        .bind(&rows.outbound.0)
        .bind(&rows.outbound.1)
        .bind(&rows.outbound_removed)
        .bind(&rows.receipts.0)
        .bind(&rows.receipts.1)
        .bind(&rows.receipts.2)
        .bind(&rows.receipts.3)
        .bind(&rows.subjects)
        .fetch_one(connection)
        .await
        .unwrap();
    assert_eq!(written, 1);
}

/// A connection of `tokio-postgres` with its statements.
pub struct Other {
    client: Client,
    function: Statement,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
}

impl Other {
    pub async fn connect(config: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(config, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(SETTINGS).await.unwrap();
        let holders: Vec<_> = (1..=47).map(|n| format!("${n}")).collect();
        let function = format!("SELECT rialto.write_group_1({})", holders.join(", "));
        let (int4, int8, bytes) = (Type::INT4, Type::INT8, Type::BYTEA);
        let head = [
            int4.clone(),
            int8.clone(),
            int8.clone(),
            int8.clone(),
            int8.clone(),
        ];
        let mut statements = vec![client.prepare_typed(HEAD, &head).await.unwrap()];
        let journal = [&head[..], &[bytes]].concat();
        statements.push(client.prepare_typed(JOURNAL, &journal).await.unwrap());
        for text in [DOCUMENTS, OUTBOUND, REPORTED, RECEIPTS] {
            let first = std::slice::from_ref(&int4);
            statements.push(client.prepare_typed(text, first).await.unwrap());
        }
        let first = [int4, int8];
        statements.push(client.prepare_typed(SUBJECTS, &first).await.unwrap());
        Self {
            function: client.prepare(&function).await.unwrap(),
            statements,
            begin: client.prepare("BEGIN").await.unwrap(),
            commit: client.prepare("COMMIT").await.unwrap(),
            client,
        }
    }

    /// Write a group by the function.
    pub async fn function(&self, rows: &Rows, epoch: i64, seq: i64) {
        let (numbers, texts, bytes) = (
            Vec::<i64>::new(),
            Vec::<String>::new(),
            Vec::<Vec<u8>>::new(),
        );
        let (n, t, b): (&Any, &Any, &Any) = (&numbers, &texts, &bytes);
        let parameters: [&Any; 47] = [
            &0i32,
            &epoch,
            &seq,
            &rows.lsn,
            &rows.next_id,
            &1i32,
            &1i16,
            &rows.entry,
            &rows.collections.0,
            &rows.collections.1,
            &rows.collections.2,
            &rows.documents.0,
            &rows.documents.1,
            &rows.documents.2,
            &rows.documents.3,
            n,
            t,
            n,
            t,
            b,
            n,
            t,
            t,
            n,
            n,
            t,
            t,
            t,
            t,
            t,
            &rows.outbound.0,
            &rows.outbound.1,
            &rows.outbound_removed,
            n,
            t,
            b,
            n,
            t,
            n,
            n,
            &rows.receipts.0,
            &rows.receipts.1,
            &rows.receipts.2,
            &rows.receipts.3,
            n,
            t,
            &rows.subjects,
        ];
        let row = self.client.query_one(&self.function, &parameters).await;
        assert_eq!(row.unwrap().get::<_, i32>(0), 0);
    }

    /// Write a group by a transaction of several statements, which are all sent at once.
    pub async fn pipelined(&self, rows: &Rows, epoch: i64, seq: i64) {
        let partition = &0i32 as &Any;
        let (documents, receipts) = (&rows.documents, &rows.receipts);
        let parameters: [Vec<&Any>; 7] = [
            vec![partition, &epoch, &seq, &rows.lsn, &rows.next_id],
            vec![
                partition,
                &epoch,
                &seq,
                &rows.lsn,
                &rows.next_id,
                &rows.entry,
            ],
            vec![
                partition,
                &documents.0,
                &documents.1,
                &documents.2,
                &documents.3,
            ],
            vec![partition, &rows.outbound.0, &rows.outbound.1],
            vec![partition, &rows.outbound_removed],
            vec![
                partition,
                &receipts.0,
                &receipts.1,
                &receipts.2,
                &receipts.3,
            ],
            vec![partition, &seq, &rows.subjects],
        ];
        let mut answers = AllAnswers::default();
        answers.add(self.client.execute(&self.begin, &[]));
        for (statement, parameters) in self.statements.iter().zip(&parameters) {
            answers.add(self.client.execute(statement, parameters));
        }
        answers.add(self.client.execute(&self.commit, &[]));
        for rows in answers.await {
            rows.unwrap();
        }
    }
}

type Any = dyn ToSql + Sync;

/// Many answers at once, in the order of their statements.
mod futures {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    enum Answer<'a, T> {
        Waits(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
        Is(Option<T>),
    }

    pub struct AllAnswers<'a, T>(Vec<Answer<'a, T>>);

    impl<T> Default for AllAnswers<'_, T> {
        fn default() -> Self {
            Self(Vec::new())
        }
    }

    impl<'a, T> AllAnswers<'a, T> {
        pub fn add(&mut self, future: impl Future<Output = T> + Send + 'a) {
            self.0.push(Answer::Waits(Box::pin(future)));
        }
    }

    impl<T: Unpin> Future for AllAnswers<'_, T> {
        type Output = Vec<T>;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
            let mut all = true;
            for answer in &mut self.0 {
                if let Answer::Waits(future) = answer {
                    match future.as_mut().poll(context) {
                        Poll::Ready(is) => *answer = Answer::Is(Some(is)),
                        Poll::Pending => all = false,
                    }
                }
            }
            if !all {
                return Poll::Pending;
            }
            let taken = self.0.iter_mut().filter_map(|answer| match answer {
                Answer::Is(is) => is.take(),
                Answer::Waits(_) => None,
            });
            Poll::Ready(taken.collect())
        }
    }
}
