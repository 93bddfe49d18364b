import { readdirSync } from "node:fs";
import { join } from "node:path";

// Lists the folders of threads, and prints how many there are. Argument: the storage root.
const logs = join(process.argv[2] ?? "", "logs");
const names = readdirSync(logs).flatMap((hash) => readdirSync(join(logs, hash)));
console.log(names.length);
