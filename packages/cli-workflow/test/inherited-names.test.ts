import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "./program.ts";

/* Names that every object inherits are valid names of workflows, roles, options, params and variables. */

setDefaultTimeout(180_000);
afterAll(removeFolders);

const names = ["constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

const bundle = `export const descriptor = {
  description: "tells what it got",
  roles: Object.fromEntries(${JSON.stringify(names)}.map((name) => [name, { description: name, schema: { type: "object" } }])),
};
export async function* run({ steps, params }, options) {
  const names = ${JSON.stringify([...names, "__proto__"])};
  const own = (all) => names.map((name) => (Object.hasOwn(all ?? {}, name) ? all[name] : null));
  const roles = ${JSON.stringify(names)};
  if (steps.length < roles.length) {
    const role = roles[steps.length];
    yield { role, content: JSON.stringify([own(params), own(options), own(options.env)]), meta: {} };
  }
  for (let n = steps.length + 1; n < roles.length; n += 1) {
    yield { role: roles[n], content: "", meta: {} };
  }
  return { returnCode: 0, summary: "told" };
}`;

test("workflows, roles, options and params with inherited names are listed, run, shown and removed", async () => {
  const store = new Store({ inMemory: true });
  writeFileSync(join(store.folder, "tell.esm.js"), bundle);
  for (const name of names) {
    expect((await store.run(["show", name])).code).not.toBe(0);
    expect((await store.run(["run", name])).code).not.toBe(0);
  }
  for (const name of names) await store.ok(["add", name, "tell.esm.js"]);
  const listed = await store.json<{ name: string }[]>(["list"]);
  expect(listed.map(({ name }) => name).sort()).toEqual([...names].sort());
  const values = [...names, "__proto__"].map((_, n) => n + 1);
  const params = `{${[...names, "__proto__"].map((name, n) => `"${name}":${n + 1}`).join()}}`;
  const options = names.flatMap((name, n) => ["--option", `${name}=${n + 1}`]);
  for (const name of names) {
    const id = await store.ok(["run", name, "--params", params, ...options, "--wait"]);
    const thread = await store.json<{ steps: { role: string; content: string }[] }>([
      "thread",
      id.split("\n")[0] ?? "",
    ]);
    expect(thread.steps.map(({ role }) => role)).toEqual(names);
    const [given, chosen] = JSON.parse(thread.steps[0]?.content ?? "") as unknown[][];
    expect(given).toEqual(values);
    expect(chosen?.slice(0, names.length)).toEqual(values.slice(0, names.length));
  }
  for (const name of names) {
    await store.ok(["remove", name]);
    expect((await store.run(["show", name])).code).not.toBe(0);
  }
});
