import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type EvalCase, readDataset } from "@uncaged/workflow-evals";
import { readDocument } from "@uncaged/workflow/document";
import { jsonOf, readText } from "../arguments/values.ts";
import { fixtureNotFound, otherFixture } from "./errors.ts";
import { fixtureIn } from "./fixture.ts";

type Version = { hash: string; workflow: string };

/**
 * Returns the cases of a data set's file. Paths of fixtures are relative to the data set. With a folder of fixtures,
 * each case uses the fixture with its id.
 * @throws WorkflowError `BAD_DATASET`, `BAD_FIXTURE`, `FIXTURE_NOT_FOUND`, and the errors of unreadable files.
 */
export async function casesOf(
  path: string,
  { fixtures, cwd }: { fixtures?: string; cwd: string },
): Promise<EvalCase[]> {
  const text = await readText(path, "the data set");
  const beside = path === "-" ? cwd : dirname(resolve(cwd, path));
  const name = path === "-" ? "stdin" : path;
  const read = (fixture: string) => jsonOf("a fixture", `@${resolve(beside, fixture)}`);
  const cases = await readDataset(text, name, read, located);
  if (fixtures === undefined) return cases;
  return await Promise.all(cases.map((one) => withFixture(one, fixtures, cwd)));
}

/** Returns the position of a part of a line. The document reader parses the line like a file. */
function located(line: string, path: readonly string[]) {
  try {
    return readDocument(line, "line").positionOf(path);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, column, problem] = /^line:1:(\d+): (.*)$/s.exec(message) ?? [];
    const what = problem?.replace("the file ends here", "the line ends here");
    return { column: Number(column ?? 1), ...(what !== undefined && { problem: what }) };
  }
}

async function withFixture(one: EvalCase, folder: string, cwd: string): Promise<EvalCase> {
  const name = `${one.id}.json`;
  const path = join(resolve(cwd, folder), name);
  if (name !== basename(path) || !existsSync(path)) {
    throw fixtureNotFound(one.id, path);
  }
  return { ...one, fixture: await fixtureIn(path, "--fixtures") };
}

/**
 * Checks that every fixture belongs to the versions' workflow.
 * @throws WorkflowError `OTHER_FIXTURE`
 */
export function checkFixtures(cases: readonly EvalCase[], versions: readonly Version[]): void {
  for (const { hash, workflow } of versions) {
    const isOther = ({ fixture }: EvalCase) =>
      fixture &&
      workflow !== hash &&
      fixture.hash !== hash &&
      withoutEnding(fixture.workflow) !== withoutEnding(workflow);
    const other = cases.find(isOther);
    if (!other) continue;
    throw otherFixture(other.id, { found: other.fixture?.workflow ?? "", wanted: workflow });
  }
}

/** Returns a workflow's name without a file extension. The threads of a file have the full file name. */
const withoutEnding = (name: string): string =>
  name.replace(/(\.esm)?\.(m?ts|tsx|js|json|ya?ml)$/, "");
