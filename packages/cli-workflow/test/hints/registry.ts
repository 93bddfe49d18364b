import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { counter } from "../../../workflow/test/fixtures/bundles.ts";
import { playBundle, type Store } from "../program.ts";
import type { Situation } from "./leads.ts";

/** Creates a project's folder in the store's folder. */
function project(store: Store, name: string, fields: object): void {
  const folder = join(store.folder, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "uncaged.json"), JSON.stringify(fields));
  writeFileSync(join(folder, "review.ts"), source);
  writeFileSync(join(folder, "lone.esm.js"), counter);
}

const source = `export const descriptor = { description: "reviews", roles: {} };
export async function* run() { return { returnCode: 0, summary: "done" }; }`;

const listing = (name: string) => ({ workflows: { [name]: "review.ts" } });
const file = { "<file>": playBundle, "<name>": "other" };

/** Situations with workflows, versions and projects. */
export const registry: Record<string, Situation> = {
  "a workflow is missing": { in: async () => ["run", "nothing"] },
  "a rollback of the first version": {
    in: async (store) => {
      project(store, "twice", {});
      await store.ok(["add", "twice", playBundle]);
      await store.ok(["add", "twice", join(store.folder, "twice/lone.esm.js")]);
      await store.ok(["rollback", "twice"]);
      return ["rollback", "twice"];
    },
  },
  "a version is missing": { in: async () => ["rollback", "play", "ZZZZZZZ"] },
  "a workflow was added": { in: async () => ["add", "again", playBundle] },
  "`--types` without a workflow": { in: async () => ["add", "--types", "x.d.ts"], fill: file },
  "`--check` without a workflow": { in: async () => ["add", "--check"], fill: file },
  "`--threads` without `--check`": {
    in: async () => ["add", "play", playBundle, "--threads", "2"],
    fill: file,
  },
  "`add` outside a project": { in: async () => ["add"], fill: file },
  "a name that the project does not list": {
    in: async (store) => {
      project(store, "lists", listing("review"));
      return ["add", "something"];
    },
    cwd: "lists",
    fill: file,
  },
  "a file that the project does not list": {
    in: async (store) => {
      project(store, "lists", listing("review"));
      return ["add", "./lone.esm.js"];
    },
    cwd: "lists",
    fill: { "<name>": "named" },
  },
  "a listed workflow is not registered": {
    in: async (store) => {
      await store.run(["remove", "review"]);
      project(store, "lists", listing("review"));
      return ["run", "review"];
    },
    cwd: "lists",
  },
  "a listed workflow was edited": {
    in: async (store) => {
      project(store, "edits", listing("edited"));
      await store.ok(["add", "edited"], { cwd: join(store.folder, "edits") });
      writeFileSync(join(store.folder, "edits/review.ts"), source.replace("done", "changed"));
      return ["run", "edited"];
    },
    cwd: "edits",
  },
  "the name of a file in the folder": {
    in: async (store) => {
      project(store, "lists", listing("review"));
      return ["run", "lone"];
    },
    cwd: "lists",
  },
  "the project is out of sync": {
    in: async (store) => {
      await store.run(["remove", "review"]);
      project(store, "lists", listing("review"));
      return ["sync", "--check"];
    },
    cwd: "lists",
  },
  "a bundle is built": { in: async () => ["build", playBundle], fill: file },
  "an unknown option": { in: async () => ["run", "--nope"] },
  "a prompt without quotes": { in: async () => ["run", "play", "a", "prompt"] },
  "an unknown command": { in: async () => ["nope"] },
  "nothing is registered, in a project": {
    in: async (store) => {
      project(store, "lists", listing("review"));
      for (const name of ["play", "review"]) await store.run(["remove", name]);
      return ["list"];
    },
    cwd: "lists",
    isNew: true,
  },
  "nothing is registered": {
    in: async (store) => {
      await store.run(["remove", "play"]);
      return ["list"];
    },
    fill: file,
    isNew: true,
  },
  "no threads": { in: async () => ["threads"], isNew: true },
};
