"""A file system that ignores the case of names: a pass-through to a directory, for tests. Needs the superuser and /dev/fuse.

    casefold.py DIRECTORY MOUNTPOINT

Prints `ready` once it is mounted, and ends when its input does.
"""
import ctypes, errno, os, select, stat, struct, sys

real_root, mountpoint = sys.argv[1:3]
libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"casefold", mountpoint.encode(), b"fuse", 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))

# a node for each spelling: for two names of one node the kernel takes a rename from one to the other for done
nodes = {1: (None, b"")}  # id of a node: its parent, and its name as it was looked up
ids = {}                  # parent and name: id
next_id = 2


def path(node, name=None):
    """The real path of a node, or of a name in it that its directory lists."""
    if node == 1:
        at = real_root.encode()
    else:
        parent, own = nodes[node]
        at = os.path.join(path(parent), listed(parent, own) or own)
    return at if name is None else os.path.join(at, name)


def listed(node, name):
    """The name as the directory lists it."""
    names = os.listdir(path(node))
    if name in names:
        return name
    folded = name.decode("utf-8", "surrogateescape").casefold()
    same = (n for n in names if n.decode("utf-8", "surrogateescape").casefold() == folded)
    return next(same, None)


def own(node, name):
    found = listed(node, name)
    if found is None:
        raise OSError(errno.ENOENT, "no entry")
    return found


def id_of(node, name):
    global next_id
    if (node, name) not in ids:
        ids[node, name] = next_id
        nodes[next_id] = (node, name)
        next_id += 1
    return ids[node, name]


def move(old, new):
    moved, replaced = ids.pop(old, None), ids.pop(new, None)
    if moved is not None:
        ids[new], nodes[moved] = moved, new
    return moved, replaced


def attr(s):
    nanos = lambda ns: (ns // 10**9, ns % 10**9)
    (a, an), (m, mn), (c, cn) = nanos(s.st_atime_ns), nanos(s.st_mtime_ns), nanos(s.st_ctime_ns)
    return struct.pack("<6Q10I", s.st_ino, s.st_size, s.st_blocks, a, m, c, an, mn, cn, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, 0, 4096, 0)


def entry(node, name):
    found = os.lstat(path(node, own(node, name)))
    return struct.pack("<4Q2I", id_of(node, name), 0, 0, 0, 0, 0) + attr(found)


def text(data, at=0):
    return data[at:data.index(b"\0", at)]


def rename(node, data, at, flags):
    (to,) = struct.unpack_from("<Q", data)
    old = text(data, at)
    new = text(data, at + len(old) + 1)
    real_old, there = own(node, old), listed(to, new)
    is_same = there is not None and path(node, real_old) == path(to, there)
    real_new = new if there is None or is_same else there
    if flags & 1 and real_new == there:
        raise OSError(errno.EEXIST, "exists")
    if libc.renameat2(-100, path(node, real_old), -100, path(to, real_new), flags):
        raise OSError(ctypes.get_errno(), "rename")
    moved, replaced = move((node, old), (to, new))
    if flags & 2 and replaced is not None:
        ids[node, old], nodes[replaced] = replaced, (node, old)
    return b""


def setattr_(node, data):
    valid, _, fh, size, _, atime, mtime, _, an, mn, _, mode, _, uid, gid, _ = struct.unpack_from("<2I6Q8I", data)
    at = path(node)
    if valid & 8:
        os.truncate(fh if valid & 64 else at, size)
    if valid & 6:
        os.chown(at, uid if valid & 2 else -1, gid if valid & 4 else -1, follow_symlinks=False)
    if valid & 1:
        os.chmod(at, stat.S_IMODE(mode))
    if valid & 0x1b0:
        s = os.lstat(at)
        now = lambda bit, set_, value, old: None if valid & bit else value if valid & set_ else old
        times = (now(128, 16, atime * 10**9 + an, s.st_atime_ns), now(256, 32, mtime * 10**9 + mn, s.st_mtime_ns))
        os.utime(at, ns=times if None not in times else None, follow_symlinks=False)
    return struct.pack("<Q2I", 0, 0, 0) + attr(os.lstat(at))


def readdir(node, data):
    _, offset, size = struct.unpack_from("<2QI", data)
    names = [b".", b"..", *sorted(os.listdir(path(node)))]
    out = b""
    for at, name in enumerate(names[offset:], offset):
        kind = stat.S_IFDIR if name in (b".", b"..") else os.lstat(path(node, name)).st_mode
        row = struct.pack("<2Q2I", 1, at + 1, len(name), stat.S_IFMT(kind) >> 12) + name
        row += b"\0" * (-len(row) % 8)
        if len(out) + len(row) > size:
            break
        out += row
    return out


def handle(op, node, data):
    if op == 26:
        return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, *[0] * 8)
    if op == 1:
        return entry(node, text(data))
    if op == 3:
        return struct.pack("<Q2I", 0, 0, 0) + attr(os.lstat(path(node)))
    if op == 4:
        return setattr_(node, data)
    if op == 5:
        return os.readlink(path(node))
    if op == 6:
        name, target = data.split(b"\0")[:2]
        os.symlink(target, path(node, name))
        return entry(node, name)
    if op == 9:
        mode, umask = struct.unpack_from("<2I", data)
        name = text(data, 8)
        if listed(node, name) is not None:
            raise OSError(errno.EEXIST, "exists")
        os.mkdir(path(node, name))
        os.chmod(path(node, name), mode & ~umask & 0o7777)
        return entry(node, name)
    if op in (10, 11):
        name = text(data)
        (os.unlink if op == 10 else os.rmdir)(path(node, own(node, name)))
        ids.pop((node, name), None)
        return b""
    if op == 12:
        return rename(node, data, 8, 0)
    if op == 45:
        return rename(node, data, 16, struct.unpack_from("<QI", data)[1])
    if op == 14:
        flags = struct.unpack_from("<I", data)[0] & ~os.O_NOFOLLOW
        return struct.pack("<Q2I", os.open(path(node), flags), 0, 0)
    if op == 35:
        flags, mode, umask, _ = struct.unpack_from("<4I", data)
        name = text(data, 16)
        real = listed(node, name) or name
        fh = os.open(path(node, real), flags | os.O_CREAT, mode & ~umask & 0o7777)
        return entry(node, name) + struct.pack("<Q2I", fh, 0, 0)
    if op == 15:
        fh, offset, size = struct.unpack_from("<2QI", data)
        return os.pread(fh, size, offset)
    if op == 16:
        fh, offset, size = struct.unpack_from("<2QI", data)
        return struct.pack("<2I", os.pwrite(fh, data[40:40 + size], offset), 0)
    if op == 17:
        return struct.pack("<5Q4I6I", 10**6, 10**6, 10**6, 10**6, 10**6, 4096, 255, 4096, 0, *[0] * 6)
    if op == 18:
        os.close(struct.unpack_from("<Q", data)[0])
        return b""
    if op == 28:
        return readdir(node, data)
    if op == 27:
        return struct.pack("<Q2I", 0, 0, 0)
    if op in (20, 25, 29, 30, 34):
        return b""
    raise OSError(errno.ENOSYS, "not supported")


print("ready", flush=True)
while True:
    ready, _, _ = select.select([device, sys.stdin], [], [])
    if sys.stdin in ready and not sys.stdin.buffer.read1(1):
        break
    if device not in ready:
        continue
    try:
        request = os.read(device, 1 << 20)
    except OSError:
        break
    _, op, unique, node = struct.unpack_from("<2I2Q", request)
    if op in (2, 42):
        continue
    try:
        answer, error = handle(op, node, request[40:]), 0
    except OSError as failed:
        answer, error = b"", -(failed.errno or errno.EIO)
    except KeyError:
        answer, error = b"", -errno.ESTALE
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)
    except OSError:
        pass
