// 3. Durable: imperative code whose committed steps never run again. It runs work concurrently and asks a person a
// question. While the thread waits, no process runs, even for days.
//
//     uncaged-workflow add inventory examples/03-durable.ts
//     uncaged-workflow run inventory --prompt INVENTORY.md --wait
//     uncaged-workflow resume @last --input true
//     uncaged-workflow follow @last
import { readdir, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Descriptor, durable } from "@uncaged/workflow";

export const descriptor: Descriptor = {
  description: "Writes an inventory of a folder into the file that the prompt names, if you agree",
  roles: {
    lister: { description: "Lists the files", schema: true },
    largest: { description: "Finds the largest file", schema: true },
    newest: { description: "Finds the file changed last", schema: true },
    writer: { description: "Writes the inventory", schema: true },
  },
};

type File = { name: string; bytes: number; changedAt: number };

async function list(folder: string): Promise<File[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const found = await Promise.all(names.sort().map((name) => stat(join(folder, name))));
  return found.map(({ size, mtimeMs }, index) => {
    return { name: names[index] ?? "", bytes: size, changedAt: Math.round(mtimeMs) };
  });
}

const most = (files: File[], key: "bytes" | "changedAt"): string =>
  files.reduce((best, file) => (file[key] > best[key] ? file : best)).name;

export const run = durable(async function* (step, { prompt }) {
  // A step's function receives the folder, the environment and the signal of its thread.
  const files = yield* step("lister", ({ cwd }) => list(cwd));
  if (files.length === 0) return { returnCode: 1, summary: "no files found" };

  // Both steps run concurrently. Each is committed when it finishes.
  const { largest, newest } = yield* step.all({
    largest: () => most(files, "bytes"),
    newest: () => most(files, "changedAt"),
  });

  const { value: agreed } = yield* step.wait<boolean>("approval", {
    content: `Write the inventory into ${prompt}, ${files.length} in all? true or false`,
    schema: { type: "boolean" },
  });
  if (!agreed) return "not written";

  yield* step("writer", async ({ cwd }) => {
    const lines = files.map(({ name, bytes }) => `- ${name}: ${bytes} bytes`);
    const text = [
      `# ${files.length} files`,
      `Largest: ${largest}. Changed last: ${newest}.`,
      ...lines,
    ];
    await writeFile(resolve(cwd, prompt), `${text.join("\n")}\n`);
  });
  return `wrote ${prompt}`;
});
