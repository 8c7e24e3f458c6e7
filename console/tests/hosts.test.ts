import { describe, expect, it } from "vitest";
import { concern, type Host } from "../src/parts/hosts";
import { words } from "../src/words";

const host = (state: Host["state"], release = 1): Host => ({
  id: state,
  name: "hub-1",
  state,
  isThis: false,
  version: "0.1.0",
  operators: "10.0.0.1:4002",
  release,
  clockAheadMs: 0,
  started: 1,
  seenAgoMs: 100,
});
const owned = [{ partition: 0, owner: "SERVING", epoch: 1 }];

describe("what is told of hosts", () => {
  it("is nothing while one serves and another is ready", () => {
    expect(concern({ partitions: owned, hosts: [host("SERVING"), host("STANDBY")] })).toBeUndefined();
  });

  it("names a missing standby, also when one has fallen silent", () => {
    expect(concern({ partitions: owned, hosts: [host("SERVING")] })).toBe(words.hosts.noStandby);
    expect(concern({ partitions: owned, hosts: [host("SERVING"), host("GONE")] })).toBe(words.hosts.noStandby);
  });

  it("names a standby that would have to prepare a release first", () => {
    expect(concern({ partitions: owned, hosts: [host("SERVING", 2), host("STANDBY", 1)] })).toBe(words.hosts.behind);
  });

  it("says first that nobody serves", () => {
    expect(concern({ partitions: [{ partition: 0, epoch: 3 }], hosts: [host("STANDBY")] })).toBe(words.hosts.nobody);
  });
});
