import { prewarmForRun } from "@uncaged/workflow/host";

const umask = process.umask(0o077);
const prewarmed = prewarmForRun();
const { runPlain } = await import("./program/prewarm.ts");
const begun = prewarmed ? await runPlain(process.argv.slice(2), process.env, prewarmed) : {};
if (!begun) process.exit(0);
const { main } = await import("./program/program.ts");
process.exit(await main(umask, begun));
