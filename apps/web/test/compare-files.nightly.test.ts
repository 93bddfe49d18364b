import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestRepository } from "../../../packages/workflow-agents/test/worktree/repository.ts";
import { bundleOf } from "../../../packages/workflow/test/fixtures/bundles.ts";
import { keepPicture, open, useConsole } from "./browser.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsole();
const folder = mkdtempSync(join(tmpdir(), "uncaged-compare-"));
const repository = new TestRepository(join(folder, "repository"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  await serving.add("committed", bundleOf('yield step("coder", "coded", input.params);'));
}, 600_000);

/** A thread whose step creates these files. */
async function threadWith(files: Record<string, string>): Promise<string> {
  repository.git("checkout", "-q", "--detach", "main");
  for (const [name, text] of Object.entries(files)) repository.write(name, text);
  repository.git("add", "-A");
  repository.commit("files");
  const [base, commit, tree] = ["main", "HEAD", "HEAD^{tree}"].map((name) =>
    repository.git("rev-parse", name).trim(),
  );
  const gitDir = join(repository.folder, ".git");
  const params = {
    worktree: { name: "coder", repository: gitDir, branch: "b", base, commit, tree },
  };
  const body = { workflow: "committed", params };
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", body);
  await serving.until(threadId, "completed");
  return threadId;
}

test("the differences in the files of two threads are shown", async () => {
  const lines = (middle: string) => `${"line\n".repeat(9)}${middle}\n${"line\n".repeat(9)}`;
  const a = await threadWith({ "src/a.ts": lines("const one = 1;"), "only left": "left\n" });
  const b = await threadWith({ "src/a.ts": lines("const two = 2;"), binary: "\0" });
  const page = await open(serving, `/threads/${a}/compare/${b}`);
  const files = page.getByRole("region", { name: "Files of coder" });
  await files.getByText("3 files differ").waitFor();
  const changes = files.getByRole("region", { name: "Changes of src/a.ts" });
  expect(await changes.innerText()).toMatch(
    /^6 unchanged lines[\s\S]*removed:\sconst one = 1;[\s\S]*added:\sconst two = 2;/,
  );
  await files.getByText("It is binary or too large to be shown.").waitFor();
  await files.getByRole("region", { name: "Changes of only left" }).getByText("left").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "compare-files");
  rmSync(repository.folder, { recursive: true });
  await page.reload();
  await files.getByText(/^repository .* not found/).waitFor();
}, 600_000);
