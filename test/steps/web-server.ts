/** A zip archive with `a.txt`, `in/b.txt` and `c.png`. */
const archive = Buffer.from(
  `UEsDBBQAAAAAAAAAIVzsbmCfBgAAAAYAAAAFAAAAYS50eHRhbHBoYQpQSwMEFAAAAAAAAAAhXHWn4+YFAAAABQAAAAgA
AABpbi9iLnR4dGJldGEKUEsDBBQAAAAAAAAAIVzo83m0CwAAAAsAAAAFAAAAYy5wbmdub3QgcmVhbGx5ClBLAQIUAxQA
AAAAAAAAIVzsbmCfBgAAAAYAAAAFAAAAAAAAAAAAAACAAQAAAABhLnR4dFBLAQIUAxQAAAAAAAAAIVx1p+PmBQAAAAUA
AAAIAAAAAAAAAAAAAACAASkAAABpbi9iLnR4dFBLAQIUAxQAAAAAAAAAIVzo83m0CwAAAAsAAAAFAAAAAAAAAAAAAACA
AVQAAABjLnBuZ1BLBQYAAAAAAwADAJwAAACCAAAAAAA=`,
  "base64",
);

/** Content of a request. */
export type WebRequest = { method: string; path: string; auth: string | null; body: unknown };

/** Starts a server with the users, the archive and the reports of the example. */
export function webServer(token: string) {
  const came: WebRequest[] = [];
  let isFull = false;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const auth = request.headers.get("authorization");
      const text = await request.text();
      const body: unknown = text === "" ? null : JSON.parse(text);
      came.push({ method: request.method, path: pathname + search, auth, body });
      if (pathname === "/archive.zip") return new Response(archive);
      if (pathname === "/reports") {
        return Response.json(isFull ? { error: "full" } : { ok: true }, {
          status: isFull ? 503 : 200,
        });
      }
      if (auth !== `Bearer ${token}`) return new Response("who are you?", { status: 401 });
      return Response.json({ id: Number(pathname.split("/")[2]), name: "ada" });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    came,
    refuseReports: () => void (isFull = true),
    stop: () => server.stop(true),
  };
}
