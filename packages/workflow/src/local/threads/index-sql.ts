import type { Column } from "../../system/port.ts";
import { type Limits, limitsWork, type Selector } from "../../record/filter.ts";
import type { Status } from "../../record/thread.ts";

/** Version of the index's format. An index of another version is rebuilt. */
export const format = 5;
/** Number of rows that are read at once. */
export const chunk = 100;

export const schema = `
  CREATE TABLE folders (hash TEXT PRIMARY KEY, changed REAL, logs INTEGER);
  CREATE TABLE threads (
    number INTEGER PRIMARY KEY, threadId TEXT, hash TEXT, size INTEGER, changed REAL, journal INTEGER,
    isOver INTEGER, status TEXT, workflow TEXT, createdAt REAL, workedMs REAL, cost REAL, hasError INTEGER,
    row TEXT, figures TEXT
  );
  CREATE UNIQUE INDEX newest ON threads (threadId, hash);
  CREATE INDEX byHash ON threads (hash, threadId);
  CREATE INDEX byWorkflow ON threads (workflow, threadId, hash);
  CREATE INDEX byStatus ON threads (isOver, status, threadId, hash);
  CREATE INDEX byState ON threads (isOver, threadId, hash);
  CREATE INDEX byTime ON threads (createdAt, isOver, status, workflow, hash, workedMs, cost, hasError);
  CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'trigram', detail = 'none');
  PRAGMA user_version = ${format};
`;

const stored = [
  ...[
    "threadId",
    "hash",
    "size",
    "changed",
    "journal",
    "isOver",
    "status",
    "workflow",
    "createdAt",
  ],
  ...["workedMs", "cost", "hasError", "row", "figures"],
];

export const newestFirst = `ORDER BY threadId DESC, hash DESC LIMIT ${chunk}`;

/** Selects indexed threads. The caller checks threads that are not over. */
export type IndexQuery = {
  statuses: ReadonlySet<Status> | null;
  selectors: readonly Selector[] | null;
  limits: Limits;
};

export type Statement = { text: string; values: Column[] };

type Condition = readonly [comparison: string, value: Column];

function timesOf({ since, until }: Limits): Condition[] {
  return [
    ...(since === undefined ? [] : [["createdAt >=", since] as const]),
    ...(until === undefined ? [] : [["createdAt <=", until] as const]),
  ];
}

function figuresOf({ minWorkedMs, minCost, hasError }: Limits): Condition[] {
  return [
    ...(minWorkedMs === undefined ? [] : [["workedMs >=", minWorkedMs] as const]),
    ...(minCost === undefined ? [] : [["cost >=", minCost] as const]),
    ...(hasError === undefined ? [] : [["hasError =", 1] as const]),
  ];
}

/** Returns alternative conditions that each select threads that are over. */
function waysOf({ statuses, selectors, limits }: IndexQuery): Condition[][] {
  const kinds = statuses
    ? [...statuses].map((one): Condition[] => [
        ["isOver =", 1],
        ["status =", one],
      ])
    : [limitsWork(limits) ? [["isOver =", 1] as const] : []];
  const ways = (selectors ?? [{}]).map(({ name, hash }: Selector): Condition[] => [
    ...(name === undefined ? [] : [["workflow =", name] as const]),
    ...(hash === undefined ? [] : [["hash =", hash] as const]),
  ]);
  return kinds.flatMap((kind) => ways.map((way) => [...kind, ...way, ...figuresOf(limits)]));
}

/**
 * Selects a page of threads after a key. Queries each kind of thread separately, so that each follows the order of one
 * index. A thread that is not over may have any status and figures, and any name if its log could not be read.
 */
export function pageStatement(query: IndexQuery, key: readonly string[]): Statement {
  const { statuses, selectors, limits } = query;
  const isSplit = statuses !== null || selectors !== null || limitsWork(limits);
  const parts = [...(isSplit ? [[["isOver =", 0] as const]] : []), ...waysOf(query)];
  const values: Column[] = [];
  const selects = parts.map((part) => {
    const all = [...part, ...timesOf(limits)];
    values.push(...key, ...all.map(([, value]) => value));
    const where = all.map(([comparison]) => ` AND ${comparison} ?`).join("");
    return `SELECT * FROM (SELECT * FROM threads WHERE (threadId, hash) < (?, ?)${where} ${newestFirst})`;
  });
  return { text: `${selects.join(" UNION ")} ${newestFirst}`, values };
}

/** Selects the figures of the threads that are over. */
export function figuresStatement(query: IndexQuery): Statement {
  const values: Column[] = [];
  const ways = waysOf(query).map((way) => {
    values.push(...way.map(([, value]) => value));
    return `(${["1", ...way.map(([comparison]) => `${comparison} ?`)].join(" AND ")})`;
  });
  const times = timesOf(query.limits);
  values.push(...times.map(([, value]) => value));
  const where = [
    `(${ways.join(" OR ") || "0"})`,
    ...times.map(([comparison]) => `${comparison} ?`),
  ];
  return {
    text: `SELECT createdAt, status, workedMs, cost FROM threads WHERE isOver = 1 AND ${where.join(" AND ")}`,
    values,
  };
}

export const versionStatement = `
  SELECT * FROM threads WHERE hash = ? AND threadId > ? ORDER BY threadId LIMIT ${10 * chunk}`;

/** Stores or replaces a thread. Returns its number. */
export const storeStatement = `
  INSERT INTO threads (${stored.join(", ")}) VALUES (${stored.map(() => "?").join(", ")})
  ON CONFLICT (threadId, hash) DO UPDATE SET ${stored
    .slice(2)
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")}
  RETURNING number`;
