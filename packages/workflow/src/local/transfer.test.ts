import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { dataPath } from "../storage/paths.ts";
import { removeStores, TestStore } from "../../test/fixtures/store.ts";
import { codeOf } from "../../test/fixtures/until.ts";
import { openLocalHost } from "./local.ts";
import {
  attachThread,
  detachThread,
  movedThread,
  noteMoved,
  reattachThread,
} from "./transfer.ts";

afterEach(removeStores);
