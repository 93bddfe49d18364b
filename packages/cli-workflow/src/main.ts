import { startAhead } from "./program/ahead.ts";

const umask = process.umask(0o077);
const ahead = await startAhead(process.argv.slice(2), process.env);
const { main } = await import("./program/main.ts");
process.exit(await main(umask, ahead));
