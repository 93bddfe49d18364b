import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Projects } from "./projects.ts";
import { removeFolders } from "./program.ts";

afterAll(removeFolders);
setDefaultTimeout(180_000);

test("the graph of a new project runs, asks a question, and continues with the answer", async () => {
  const store = new Projects();
  const { dir, files } = await store.json<{ dir: string; files: string[] }>([
    ...["new", "drawn", "--template", "graph"],
  ]);
  expect(files).toContain("graph.json");
  const here = { cwd: dir };
  const { $schema } = JSON.parse(readFileSync(join(dir, "graph.json"), "utf8")) as {
    $schema: string;
  };
  expect(existsSync(join(dir, $schema))).toBe(true);
  const added = await store.run(["add"], here);
  expect(added).toMatchObject({ code: 0, stderr: expect.not.stringContaining("warning") });
  const asked = await store.run(["run", "drawn", "--wait"], here);
  expect(asked).toMatchObject({ code: 6 });
  expect(asked.stderr).toContain("Should this question be answered?");
  const done = await store.run(["resume", "@last", "--input", "reject", "--wait"], here);
  expect(done.code).toBe(0);
});

test("an invalid graph is refused in one line, with its position", async () => {
  const store = new Projects();
  const refused = async (file: string, text: string) => {
    writeFileSync(join(store.folder, file), text);
    const { code, stderr } = await store.run(["add", "bad", file], { cwd: store.folder });
    return `${code} ${stderr.split("\n")[0]}`;
  };
  const node = '{"id": "a", "type": "agent"}';
  expect(
    await refused("twice.json", `{"nodes": [${node},\n ${node}], "connections": []}`),
  ).toContain('1 error: twice.json:2:9: duplicate id "a"');
  expect(await refused("half.yaml", "connections: []\nnodes:\n  - id: a\n")).toContain(
    "half.yaml:3:5: nodes[0].type is missing",
  );
  expect(await refused("other.json", '{"a": 1}')).toContain("not a step workflow");
});
