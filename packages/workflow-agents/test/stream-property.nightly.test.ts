import { setDefaultTimeout } from "bun:test";
import { testMutations } from "./stream-property.ts";

setDefaultTimeout(900_000);
testMutations(5000);
