import { parseArgs } from "node:util";
import { guardCall, serveStepTools } from "../../src/entry/tools.ts";

/* A program with the two hidden commands of the command line. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: "string" } },
});
const [, command] = positionals;
if (command === "__mcp") await serveStepTools(values.folder ?? "", process.env);
else {
  const { exitCode, message } = guardCall(await Bun.stdin.text(), process.env);
  if (message !== "") process.stderr.write(`${message}\n`);
  process.exitCode = exitCode;
}
