import { closeSync, fstatSync, openSync, readSync, watch } from "node:fs";

// Minimal server that streams a file to browsers: reads new bytes of the file when the system reports a change, and
// sends them to all clients. Argument: the file. Prints its port.
const path = process.argv[2] ?? "";
const readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
const fd = openSync(path, "r");
let position = fstatSync(fd).size;

watch(path, () => {
  const { size } = fstatSync(fd);
  if (size <= position) return;
  const buffer = Buffer.alloc(size - position);
  position += readSync(fd, buffer, 0, buffer.length, position);
  const bytes = new TextEncoder().encode(`event: step\ndata: ${buffer.toString().trim()}\n\n`);
  for (const reader of readers) reader.enqueue(bytes);
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch() {
    let reader: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        reader = controller;
        readers.add(controller);
        controller.enqueue(new TextEncoder().encode(": hello\n\n"));
      },
      cancel: () => void readers.delete(reader),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  },
});
console.log(JSON.stringify({ port: server.port, token: "" }));
process.on("SIGTERM", () => {
  closeSync(fd);
  process.exit(0);
});
