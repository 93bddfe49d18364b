declare module "pgpass" {
  /** Finds the password of a connection in the file `PGPASSFILE`, or in `~/.pgpass`. */
  export default function pgpass(
    connection: { host: string; port: number; database?: string; user?: string },
    found: (password: string | undefined) => void,
  ): void;
}
