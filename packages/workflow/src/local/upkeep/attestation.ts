/*
 * Owns: the statement that attests an ended thread, and its version. Does not own: the envelope and the signature.
 *
 * A Statement of in-toto: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md. Its subjects are the
 * files with the thread's records. Files are ResourceDescriptors, whose names are paths in a storage root:
 * https://github.com/in-toto/attestation/blob/main/spec/v1/resource_descriptor.md.
 */
import { z } from "zod";
import { isHash, isThreadId } from "../../contract/names.ts";
import { foundProblems } from "../../contract/error.ts";
import { notAStatement, notStatable } from "../errors.ts";

const statementType = "https://in-toto.io/Statement/v1";
const predicateTypes = "https://github.com/uncaged/workflow/attestation/thread/";
/** The type of the predicate that this version writes. */
export const predicateType = `${predicateTypes}v1`;

const count = z.number().int().nonnegative();
const digest = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });
const file = z.strictObject({ name: z.string(), digest });
const program = z.strictObject({ name: z.string(), version: z.string() });
/** An RFC 3339 time; null for a time outside its range. */
const time = z.string().nullable();

/**
 * The records of a file. `head` is the last checksum of its chain, null in a log of an earlier version. `lines` has the
 * first eight digits of each line's SHA-256: they only locate a change.
 */
const records = z.strictObject({
  records: count,
  bytes: count,
  head: z.string().nullable(),
  lines: z.string(),
});

/** The facts in the log. */
const thread = z.strictObject({
  threadId: z.string().refine(isThreadId),
  workflow: z.string(),
  hash: z.string().refine(isHash),
  status: z.enum(["completed", "failed", "killed"]),
  returnCode: z.number(),
  reason: z.string(),
  steps: count,
  startedAt: time,
  endedAt: time,
  forkFrom: z.strictObject({ threadId: z.string(), steps: count, origin: z.string() }).nullable(),
  /** Digest of the start record's line, which has the prompt, the params and the options. */
  start: digest,
  /** Digests of the summary's text, and of the returned value as compact JSON. */
  summary: digest,
  value: digest.nullable(),
});

const predicate = z.strictObject({
  thread,
  log: records,
  journal: records.nullable(),
  bundle: file,
  sourceMap: file.nullable(),
  /** The digest of a source without text in the source map is null. */
  sources: z.array(z.strictObject({ name: z.string(), digest: digest.nullable() })),
  blobs: z.array(file),
  attestedAt: z.string(),
  engine: program,
  runtime: program,
});

const statement = z.strictObject({
  _type: z.literal(statementType),
  subject: z.array(file).min(1),
  predicateType: z.literal(predicateType),
  predicate,
});

/** An in-toto statement about an ended thread. */
export type Statement = z.infer<typeof statement>;
export type StatedThread = z.infer<typeof thread>;
export type StatedRecords = z.infer<typeof records>;

/**
 * Returns a statement of this version.
 * @throws WorkflowError `NOT_ATTESTABLE` for values of a damaged log.
 */
export function statementOf(
  subject: Statement["subject"],
  content: Statement["predicate"],
): Statement {
  const made = statement.safeParse({
    ...{ _type: statementType, subject, predicateType, predicate: content },
  });
  if (made.success) return made.data;
  throw notStatable(problemsOf(made.error));
}

const problemsOf = ({ issues }: z.ZodError): string =>
  foundProblems(issues.map(({ path, message }) => `${path.join(".") || "statement"}: ${message}`))
    .message;

/** A statement, and the paths of its keys that are unknown to this version. */
export type ReadStatement = { statement: Statement; unknown: string[] };

/**
 * Reads the JSON of a statement. As in-toto requires, ignores unknown keys, but returns them.
 * @throws WorkflowError `NOT_AN_ATTESTATION`, which also names a newer version.
 */
export function readStatement(text: string): ReadStatement {
  const value = parsed(text);
  const type: unknown = (value as { predicateType?: unknown } | null)?.predicateType;
  if (typeof type === "string" && type !== predicateType) {
    if (type.startsWith(predicateTypes)) throw notAStatement(`${type} is of another version`, true);
    throw notAStatement(`${type} is not about a thread`);
  }
  const unknown: string[] = [];
  const first = statement.safeParse(value);
  if (first.success) return { statement: first.data, unknown };
  for (const issue of first.error.issues) {
    if (issue.code !== "unrecognized_keys") continue;
    const at = issue.path.reduce((part, key) => (part as never)[key], value) as object;
    for (const key of issue.keys) {
      unknown.push([...issue.path, key].join("."));
      Reflect.deleteProperty(at, key);
    }
  }
  const again = statement.safeParse(value);
  if (again.success) return { statement: again.data, unknown };
  throw notAStatement(problemsOf(again.error));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notAStatement("invalid JSON");
  }
}
