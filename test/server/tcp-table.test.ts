import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { endianness, platform } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionKey, parseTcpTable, readUnacknowledged } from '../../src/server/tcp-table.js';

const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

/** A line of the table, on a machine on which the lowest byte of a number comes first. */
const line = (local: string, remote: string, unacknowledged: string) =>
  `   7: ${local} ${remote} 01 ${unacknowledged}:00000000 02:000004B5 00000001  1000        0 123456 2 0 20 4 30 10 -1\n`;

describe.runIf(endianness() === 'LE')('the table of TCP connections', () => {
  test('tells what peers have not acknowledged, in both families of addresses', () => {
    const text =
      HEADER +
      line('0100007F:1F90', '0200630A:D431', '0000012C') +
      line('0000000000000000FFFF00000100007F:1F90', '0000000000000000FFFF00000200630A:D432', '00000001') +
      line('B80D0120000000000000000001000000:0FA0', 'B80D0120000000000000000002000000:0050', '00100000');
    expect(parseTcpTable(text)).toEqual([
      ['8080 10.99.0.2 54321', 300],
      ['8080 ::ffff:10.99.0.2 54322', 1],
      ['4000 2001:db8::2 80', 1_048_576],
    ]);
  });

  test('says nothing of those that have acknowledged all', () => {
    expect(parseTcpTable(HEADER + line('0100007F:1F90', '0100007F:D431', '00000000'))).toEqual([]);
  });
});

describe.runIf(platform() === 'linux')('what the system says', () => {
  test.each(['127.0.0.1', '::1'])(
    'of a connection to %s is what its peer has no room for, and is gone once it has read it',
    async (host) => {
      const accepted: Socket[] = [];
      const server = createServer((socket) => void accepted.push(socket)).listen(0, host);
      await once(server, 'listening');
      const peer = connect((server.address() as AddressInfo).port, host).pause();
      onTestFinished(() => {
        for (const socket of [peer, ...accepted]) socket.destroy();
        server.close();
      });
      await expect.poll(() => accepted.length).toBe(1);
      const unacknowledged = async () => (await readUnacknowledged()).get(connectionKey(accepted[0]!)) ?? 0;
      expect(await unacknowledged()).toBe(0);
      accepted[0]!.write(Buffer.alloc(50_000_000));
      await expect.poll(unacknowledged).toBeGreaterThan(0);
      peer.resume();
      await expect.poll(unacknowledged).toBe(0);
    },
  );
});
