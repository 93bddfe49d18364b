import { checkFixture, show, type TestAnswer } from "@uncaged/workflow/internal";
import type { Fixture } from "@uncaged/workflow/host";
import { badDataset, noCases } from "./errors.ts";

/** A case of a data set: the input of its threads, and the expected result for its scorer. */
export type EvalCase = {
  id: string;
  prompt: string;
  params?: unknown;
  expected?: unknown;
  /** The answers to the questions of the case's thread, in order, like the answers of `runThread`. */
  answers?: readonly TestAnswer[];
  metadata?: Record<string, unknown>;
  /** A fixture that replays the recorded results of roles instead of running them. */
  fixture?: Fixture;
};

/** Returns the JSON of the fixture file that a line names. Rejects if the file is unreadable or invalid JSON. */
export type ReadFixture = (path: string) => Promise<unknown>;

/** Returns the column (from 1) of the value at `path` in a line. For invalid JSON, also returns the problem. */
type Locate = (line: string, path: readonly string[]) => { column: number; problem?: string };

const known = ["id", "prompt", "params", "expected", "answers", "metadata", "fixture"];

/** Maximum number of problems in one error. */
const mostProblems = 20;

/**
 * Reads the cases of a data set in JSON Lines. The id of a case defaults to the line number. The prompt defaults to the
 * prompt of the case's fixture, or to an empty text if the case has params. Skips empty lines. Accepts a byte order mark
 * and Windows line ends.
 *
 * @param file the name of the data set, for messages
 * @throws WorkflowError `BAD_DATASET` with the first 20 invalid lines as `file:line: message`. With `locate`, the
 * position is `file:line:column`.
 */
export async function readDataset(
  text: string,
  file: string,
  readFixture: ReadFixture,
  locate?: Locate,
): Promise<EvalCase[]> {
  const cases: EvalCase[] = [];
  const lines = new Map<string, number>();
  const problems: string[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === "") continue;
    const number = index + 1;
    try {
      const one = await readCase(line, number, readFixture);
      const before = lines.get(one.id);
      if (before !== undefined)
        throw new Wrong(`id ${show(one.id)} is already used in line ${before}`, "id");
      lines.set(one.id, number);
      cases.push(one);
    } catch (error) {
      const path = error instanceof Wrong ? error.path : [];
      const { column, problem = messageOf(error) } = locate?.(line, path) ?? {};
      const where = [file, number, column].filter((one) => one !== undefined).join(":");
      problems.push(`${where}: ${error instanceof Wrong ? error.message : problem}`);
      if (problems.length === mostProblems) break;
    }
  }
  if (problems.length > 0) throw badDataset(problems);
  if (cases.length > 0) return cases;
  throw noCases(file);
}

async function readCase(line: string, number: number, readFixture: ReadFixture): Promise<EvalCase> {
  const value = jsonOf(line);
  if (!isObject(value)) throw new Wrong("not a JSON object");
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new Wrong(`unknown field ${show(unknown)}; fields: ${known.join(", ")}`, unknown);
  }
  const { id = String(number), params, expected, answers, metadata } = value;
  if ((typeof id !== "string" || id === "") && !Number.isSafeInteger(id)) {
    throw new Wrong("id is neither a non-empty string nor an integer", "id");
  }
  const fixture = value.fixture === undefined ? null : await fixtureOf(value.fixture, readFixture);
  const prompt = value.prompt ?? fixture?.prompt ?? (params === undefined ? undefined : "");
  if (typeof prompt !== "string") {
    const isMissing = value.prompt === undefined;
    throw new Wrong(isMissing ? "missing prompt" : "prompt is not a string", "prompt");
  }
  if (metadata !== undefined && !isObject(metadata))
    throw new Wrong("metadata is not an object", "metadata");
  const problem = answers === undefined ? null : problemOf(answers);
  if (problem !== null) throw new Wrong(problem.text, ...problem.path);
  const given = params ?? (value.prompt === undefined ? fixture?.params : undefined);
  return {
    ...{ id: String(id), prompt },
    ...(given !== undefined && { params: given }),
    ...(expected !== undefined && { expected }),
    ...(answers !== undefined && { answers: answers as TestAnswer[] }),
    ...(metadata !== undefined && { metadata }),
    ...(fixture !== null && { fixture }),
  };
}

function problemOf(answers: unknown): { text: string; path: string[] } | null {
  if (!Array.isArray(answers)) return { text: "answers are not an array", path: ["answers"] };
  const index = answers.findIndex((one) => !isAnswer(one));
  const text = `answer ${index + 1} is neither a string nor {"content": "…", "meta": {…}}`;
  return index < 0 ? null : { text, path: ["answers", String(index)] };
}

const isAnswer = (one: unknown): boolean =>
  typeof one === "string" ||
  (isObject(one) && typeof one.content === "string" && isObject(one.meta));

async function fixtureOf(given: unknown, readFixture: ReadFixture): Promise<Fixture> {
  try {
    return checkFixture(typeof given === "string" ? await readFixture(given) : given);
  } catch (error) {
    const what = typeof given === "string" ? `fixture ${show(given)}: ` : "";
    throw new Wrong(`${what}${messageOf(error)}`, "fixture");
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`invalid JSON (${messageOf(error)})`, { cause: error });
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** A problem in a line, with its field. */
class Wrong extends Error {
  readonly path: readonly string[];

  constructor(message: string, ...path: string[]) {
    super(message);
    this.path = path;
  }
}
