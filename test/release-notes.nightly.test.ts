import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { settled, threadJson, type ThreadJson } from "@uncaged/workflow/host";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";
import { git } from "./repository.ts";
import { warningsOn } from "./warned.ts";
import { top } from "./source.ts";
import { StepsHouse, textIn } from "./steps/examples.ts";

/* Runs the release-notes writer: offline, with a model, and forked. */
const house = new StepsHouse();
const rolesOf = ({ steps }: ThreadJson): string[] => steps.map(({ role }) => role);

beforeAll(async () => {
  await house.add("release-notes", join(top, "examples/release-notes/flow.json"));
}, 180_000);

afterAll(() => house.close());

/** Creates a repository with a tag and later commits. */
function repository(...messages: string[]): string {
  const cwd = house.place("repository");
  git(cwd, "init", "--quiet", "--initial-branch=main");
  const commit = (message: string) => git(cwd, "commit", "--quiet", "--allow-empty", "-m", message);
  commit("an old change");
  git(cwd, "tag", "v1");
  for (const message of messages) commit(message);
  return cwd;
}

/** Returns the notes without commit ids. */
const notesIn = (cwd: string): string =>
  textIn(cwd, "RELEASE_NOTES.md").replace(/\([0-9a-f]{7,}\)/g, "(id)");

describe("without a model", () => {
  test("it asks for approval and writes the commits since the last tag", async () => {
    const cwd = repository("a door", "a window");
    const asked = await house.run("release-notes", { cwd });
    expect(asked.steps.at(-1)?.content).toStartWith("# HEAD\n\n## Changed\n\n- a window (");
    expect(existsSync(join(cwd, "RELEASE_NOTES.md"))).toBe(false);
    const done = await house.answer(asked, true);
    expect(done.result).toEqual({ returnCode: 0, summary: "RELEASE_NOTES.md covers v1..HEAD" });
    expect(notesIn(cwd)).toBe("# HEAD\n\n## Changed\n\n- a window (id)\n- a door (id)\n");
  });

  test("it writes nothing without approval", async () => {
    const cwd = repository("a door");
    const asked = await house.run("release-notes", { cwd });
    const done = await house.answer(asked, false);
    expect(done.result?.summary).toBe("not approved: nothing was written");
    expect(existsSync(join(cwd, "RELEASE_NOTES.md"))).toBe(false);
  });

  test("it asks for migration advice about a breaking change", async () => {
    const cwd = repository("feat!: no more doors", "a window\n\nBREAKING CHANGE: it is round");
    const asked = await house.run("release-notes", { cwd });
    expect(asked.steps.at(-1)?.content).toContain("- feat!: no more doors");
    const approve = await house.answer(asked, "Buy a ladder.");
    await house.answer(approve, true);
    expect(notesIn(cwd)).toStartWith(
      "# HEAD\n\n## Breaking changes\n\n- a window (id)\n- feat!: no more doors (id)\n\nBuy a ladder.\n",
    );
  });

  test("it reports that no commits or no repository were found", async () => {
    const params = { from: "v1" };
    const nothing = await house.run("release-notes", { cwd: repository(), params });
    expect(nothing.result).toEqual({ returnCode: 0, summary: "no commits in v1..HEAD" });
    const outside = await house.run("release-notes", {
      cwd: house.place(),
      env: { GIT_CEILING_DIRECTORIES: house.folder },
    });
    expect(outside.status).toBe("failed");
    expect(outside.result?.summary).toContain("not a git repository");
  });
});

describe("with a model", () => {
  const line = (asked: string): object => {
    if (asked.includes("a door")) return { kind: "feature", text: "There is a door." };
    return { kind: "fix", text: "The window closes." };
  };
  const model = "anthropic/claude-opus-5-5";

  test("all lines are written in parallel and sorted by their kind", async () => {
    const server = await anthropicServer((body) => {
      return { text: JSON.stringify(line(JSON.stringify(body.messages))) };
    });
    const cwd = repository("a door", "a window");
    const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
    const params = { approve: false, model };
    const thread = await house.run("release-notes", { cwd, params, env });
    expect(thread.status).toBe("completed");
    expect(notesIn(cwd)).toBe(
      "# HEAD\n\n## New\n\n- There is a door. (id)\n\n## Fixed\n\n- The window closes. (id)\n",
    );
    expect(server.came).toHaveLength(2);

    const again = await house.host.fork(thread, {
      keep: { atStep: rolesOf(thread).indexOf("Loop_Summaries") + 1 },
      env,
    });
    const forked = threadJson(await settled(house.host, { ...again }));
    expect(forked.status).toBe("completed");
    // A fork does not repeat the model calls of its copied steps.
    expect(server.came).toHaveLength(2);
    await server.stop();
  });
});

test("no step of an example violates its descriptor", async () => {
  expect(await warningsOn(house.host)).toEqual([]);
});
