import { fileURLToPath } from "node:url";

const top = fileURLToPath(new URL("../../..", import.meta.url));

/** The start command of the hidden commands in tests, and the folders of their code. */
export const ownProgram = {
  argv: [process.execPath, fileURLToPath(new URL("./agents/own-program.ts", import.meta.url))],
  folders: [process.execPath, `${top}packages`, `${top}node_modules`],
};
