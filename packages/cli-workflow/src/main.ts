import { hostVariable, prewarmWorker } from "@uncaged/workflow/host";

const umask = process.umask(0o077);
// It takes as long to begin as this process does: it begins before anything else is loaded.
const isLocal = !process.env[hostVariable] && !process.argv.includes("--host");
const prewarmed = process.argv[2] === "run" && isLocal ? prewarmWorker() : null;
const { runPlain } = await import("./program/prewarm.ts");
const begun = prewarmed ? await runPlain(process.argv.slice(2), process.env, prewarmed) : {};
if (!begun) process.exit(0);
const { main } = await import("./program/program.ts");
process.exit(await main(umask, begun));
