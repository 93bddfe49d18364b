import { main } from "./program/program.ts";

process.exit(await main());
