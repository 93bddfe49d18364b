import {
  checkFixture,
  type Fixture,
  foundProblems,
  show,
  WorkflowError,
} from "@uncaged/workflow/host";

/** A case of a data set: what its threads are started with, and what its scorer compares with. */
export type EvalCase = {
  id: string;
  prompt: string;
  params?: unknown;
  expected?: unknown;
  metadata?: Record<string, unknown>;
  /** What answers the roles of its threads: then no model is called. */
  fixture?: Fixture;
};

/** Reads the text of a fixture that a line names, by its path. @throws what can't be read. */
export type ReadFixture = (path: string) => Promise<string>;

const known = ["id", "prompt", "params", "expected", "metadata", "fixture"];

/** Who reads a list of 10,000 wrong lines corrects the first ones. */
const mostProblems = 20;

/**
 * The cases of a data set in JSON Lines. A case without an id has the number of its line as its own, and one without a
 * prompt that of its fixture. Empty lines are none; a byte order mark and Windows' line ends are accepted.
 *
 * @param file the name of the data set, for messages
 * @throws WorkflowError `BAD_DATASET` with each wrong line.
 */
export async function readDataset(
  text: string,
  file: string,
  readFixture: ReadFixture,
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
        throw wrong(`its id ${show(one.id)} is that of line ${before}, too`);
      lines.set(one.id, number);
      cases.push(one);
    } catch (error) {
      problems.push(`${file}:${number}: ${error instanceof Error ? error.message : String(error)}`);
      if (problems.length === mostProblems) break;
    }
  }
  const hint = 'each line is a JSON object: {"id": …, "prompt": "…", "expected": …}';
  if (problems.length > 0) {
    throw new WorkflowError({
      code: "BAD_DATASET",
      kind: "usage",
      hint,
      ...foundProblems(problems),
    });
  }
  if (cases.length > 0) return cases;
  throw WorkflowError.usage("BAD_DATASET", `${file} has no cases`, hint);
}

async function readCase(line: string, number: number, readFixture: ReadFixture): Promise<EvalCase> {
  const value = jsonOf(line);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw wrong(`${show(unknown)} is none of its fields, which are ${known.join(", ")}`);
  }
  const { id = String(number), params, expected, metadata } = value;
  if ((typeof id !== "string" || id === "") && !Number.isSafeInteger(id)) {
    throw wrong("its id is neither a text nor a whole number");
  }
  const fixture = value.fixture === undefined ? null : await fixtureOf(value.fixture, readFixture);
  const prompt = value.prompt ?? fixture?.prompt ?? (params === undefined ? undefined : "");
  if (typeof prompt !== "string") {
    throw wrong(value.prompt === undefined ? "it has no prompt" : "its prompt is no text");
  }
  if (metadata !== undefined && !isObject(metadata)) throw wrong("its metadata is no object");
  const given = params ?? (value.prompt === undefined ? fixture?.params : undefined);
  return {
    ...{ id: String(id), prompt },
    ...(given !== undefined && { params: given }),
    ...(expected !== undefined && { expected }),
    ...(metadata !== undefined && { metadata }),
    ...(fixture !== null && { fixture }),
  };
}

async function fixtureOf(given: unknown, readFixture: ReadFixture): Promise<Fixture> {
  if (typeof given !== "string") return checkFixture(given);
  try {
    return parseFixture(await readFixture(given));
  } catch (error) {
    throw wrong(
      `its fixture ${show(given)}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** A fixture from its file's text. @throws WorkflowError `BAD_FIXTURE`, and what JSON refuses. */
export const parseFixture = (text: string): Fixture =>
  checkFixture(JSON.parse(text.replace(/^\uFEFF/, "")));

function jsonOf(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw wrong(`it is no JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (isObject(value)) return value;
  throw wrong("it is no JSON object");
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const wrong = (what: string): Error => new Error(what);
