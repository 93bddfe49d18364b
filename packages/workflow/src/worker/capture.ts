import { Console } from "node:console";
import { Writable } from "node:stream";
import { WorkflowError } from "../contract/error.ts";
import { currentContext } from "./context.ts";

type Write = typeof process.stdout.write;

/**
 * Takes what a bundle prints to its thread's debug log. What no thread printed goes on to the worker's
 * own log file.
 */
export function capturePrints(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write: Write = stream.write.bind(stream);
    stream.write = (chunk: string | Uint8Array, ...rest: []) => {
      const context = currentContext();
      if (!context) return write(chunk, ...rest);
      note(chunk);
      return true;
    };
  }
  const printer = new Console({ stdout: forward(process.stdout), stderr: forward(process.stderr) });
  Object.assign(console, printer);
}

function forward(stream: NodeJS.WriteStream): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      stream.write(chunk);
      done();
    },
  });
}

function note(chunk: string | Uint8Array): void {
  const text = typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
  currentContext()?.info.log("V1BZ6SHC", text.replace(/\n$/, ""));
}

/**
 * Keeps a bundle from ending the process that its siblings run in: `process.exit` fails the thread that
 * calls it. Returns the real one, for the worker itself.
 */
export function guardExit(): (code: number) => never {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const error = new WorkflowError({
      code: "BUNDLE_EXITED",
      kind: "failed",
      message: `the bundle called process.exit(${code ?? ""})`,
      hint: "return {returnCode, summary} instead",
    });
    currentContext()?.fail(error);
    throw error;
  };
  return exit;
}
