import { fdatasyncSync, openSync, writeSync } from "node:fs";

// Imports the bundle, and makes its first lines durable: a start record and each step.
const [bundle = "", log = "", prompt = ""] = process.argv.slice(2);
const { run } = (await import(bundle)) as {
  run: (input: object, options: object) => AsyncGenerator<object>;
};
const fd = openSync(log, "ax", 0o600);

function append(record: object): void {
  writeSync(fd, `${JSON.stringify({ ...record, timestamp: Date.now() })}\n`);
  fdatasyncSync(fd);
}

append({ name: "bench", parameters: { prompt, options: {} } });
for await (const step of run({ prompt, steps: [] }, {})) append(step);
