import { begin } from "./program/begin.ts";

process.exit(await begin(process.argv.slice(2)));
