import { prewarm } from "./program/prewarm.ts";

const umask = process.umask(0o077);
const prewarmed = await prewarm(process.argv.slice(2), process.env);
const { main } = await import("./program/program.ts");
process.exit(await main(umask, prewarmed));
