import * as z from "zod/mini";
import { writeText } from "./file.ts";
import { tool } from "./tools.ts";

/** Writes a text file whole. */
export const writeFile = tool({
  name: "writeFile",
  description:
    "Writes a text file of the working directory whole, in place of what it held. Makes missing folders.",
  input: z.object({ path: z.string().check(z.minLength(1)), content: z.string() }),
  async execute({ path, content }, { cwd }) {
    const { place, created } = await writeText(cwd, path, content);
    const result = `${created ? "made" : "replaced"} ${place.name}`;
    return { result, path: place.name, created, bytes: Buffer.byteLength(content) };
  },
});
