//! The card over its socket, with the client of the protocol's crate in the part of QEMU.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use alcor_vcard::xdma::{control, status};
use alcor_vcard::{CORE_BAR, Error, Socket};
use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_IRQ_SET_DATA_NONE,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX,
};
use vfio_user::Client;
use xdma::nodes::EventNode;

use crate::bytes::{COMPLETED, Descriptor, STOP};
use crate::card::virtual_card;
use crate::host::{BASE, Event, Host, event};

const CORE: u32 = CORE_BAR as u32;
const CONFIG: u32 = VFIO_PCI_CONFIG_REGION_INDEX;

fn read32(client: &mut Client, region: u32, at: u64) -> u32 {
    let mut data = [0; 4];
    client.region_read(region, at, &mut data).expect("a read");
    u32::from_le_bytes(data)
}

fn write32(client: &mut Client, region: u32, at: u64, value: u32) {
    client
        .region_write(region, at, &value.to_le_bytes())
        .expect("a write");
}

/// Starts a transfer of `length` bytes from host memory to node memory by H2C channel 0.
fn start(client: &mut Client, host: &Host, length: u32) {
    let descriptor = Descriptor::new(STOP | COMPLETED, BASE + 0x1000, 0x40, length);
    host.file
        .write_all_at(&descriptor.to_bytes(), 0)
        .expect("memory");
    write32(client, CORE, 0x4080, BASE as u32);
    write32(client, CORE, 0x4084, (BASE >> 32) as u32);
    write32(client, CORE, 0x0c, control::RUN);
    let log = status::ERRORS | status::DESCRIPTOR_STOPPED;
    write32(client, CORE, 0x04, control::RUN | log);
}

fn connect(path: &Path, host: &Host) -> Client {
    let mut client = Client::new(path).expect("a connection");
    write32(&mut client, CONFIG, 4, 0b110);
    let file = host.file.as_raw_fd();
    client
        .dma_map(0, BASE, host.bytes(), file)
        .expect("a mapping");
    client
}

fn ends(client: &mut Client) -> u32 {
    loop {
        let found = read32(client, CORE, 0x40);
        if found & status::BUSY == 0 {
            return found;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn virtual_machines_come_and_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("card0.sock");
    let socket = Arc::new(Socket::bind(&path).expect("a socket"));
    assert!(matches!(Socket::bind(&path), Err(Error::Served { .. })));
    let served = Arc::clone(&socket);
    let card = virtual_card();
    let serving = thread::spawn(move || served.serve(&card));
    let host = Host::new();

    // The first: a transfer and its interrupt.
    let mut client = connect(&path, &host);
    assert_eq!(read32(&mut client, CONFIG, 0), 0x903f_10ee);
    assert_eq!(
        client.region(CORE).map(|region| region.size),
        Some(64 << 10)
    );
    let vectors = client
        .get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX)
        .expect("vectors");
    assert_eq!(vectors.count, 32, "the default table of the core");
    let file = event();
    let flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    let set = client.set_irqs(VFIO_PCI_MSIX_IRQ_INDEX, flags, 3, 1, &[file.as_raw_fd()]);
    set.expect("an event");
    write32(&mut client, CORE, 0x20a0, 3);
    write32(&mut client, CORE, 0x90, status::DESCRIPTOR_STOPPED);
    write32(&mut client, CORE, 0x2014, 1);
    host.file.write_all_at(&[7; 100], 0x1000).expect("memory");
    start(&mut client, &host, 100);
    assert!(
        Event(file)
            .poll(Some(Duration::from_secs(60)))
            .expect("a poll"),
        "no interrupt"
    );
    assert_eq!(ends(&mut client), status::DESCRIPTOR_STOPPED);
    let mut found = [0; 102];
    client.region_read(2, 0x3f, &mut found).expect("a read");
    assert_eq!((found[0], found[101]), (0, 0));
    assert_eq!(found[1..101], [7; 100]);
    let flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
    client
        .set_irqs(VFIO_PCI_MSIX_IRQ_INDEX, flags, 0, 0, &[])
        .expect("no events");

    // It dies in the middle of a transfer. The next finds a card after reset, without its memory.
    start(&mut client, &host, 1 << 20);
    client.shutdown().expect("an end");
    drop(client);
    let mut client = Client::new(&path).expect("a connection");
    assert_eq!(read32(&mut client, CORE, 0x04), 0);
    assert_eq!(read32(&mut client, CONFIG, 4) & 0xffff, 0);
    write32(&mut client, CONFIG, 4, 0b110);
    start(&mut client, &host, 64);
    assert_eq!(ends(&mut client), status::DESCRIPTOR_ERROR);
    // A device reset in the middle of a transfer.
    let file = host.file.as_raw_fd();
    client
        .dma_map(0, BASE, host.bytes(), file)
        .expect("a mapping");
    start(&mut client, &host, 1 << 20);
    client.reset().expect("a reset");
    assert_eq!(
        (
            read32(&mut client, CORE, 0x40),
            read32(&mut client, CORE, 0x04)
        ),
        (0, 0)
    );
    drop(client);

    // The first message with a length that ends in its header, garbage, and half a message.
    for garbage in [
        &[
            1, 0, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
        ][..],
        &[0xff; 64][..],
        &[1, 0, 9, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..],
    ] {
        let mut stream = UnixStream::connect(&path).expect("a connection");
        stream.write_all(garbage).expect("a message");
        drop(stream);
        thread::sleep(Duration::from_millis(100));
        assert!(!serving.is_finished(), "the server ended by {garbage:x?}");
    }
    let mut client = connect(&path, &host);
    start(&mut client, &host, 64);
    assert_eq!(ends(&mut client), status::DESCRIPTOR_STOPPED);
    // The machine makes its memory shorter than it said: the transfer fails, and the server goes on.
    host.file.set_len(0).expect("shorter memory");
    start(&mut client, &host, 64);
    assert_ne!(ends(&mut client) & status::ERRORS, 0);
    host.file.set_len(host.bytes()).expect("the memory");
    start(&mut client, &host, 64);
    assert_eq!(ends(&mut client), status::DESCRIPTOR_STOPPED);

    socket.close();
    assert!(!path.exists());
}

#[test]
fn the_socket_of_a_dead_server_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("card0.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists());
    let socket = Socket::bind(&path).expect("a socket");
    assert_eq!(socket.path(), path);
    drop(socket);
    assert!(!path.exists());
    let nowhere = folder.path().join("none/card0.sock");
    assert!(matches!(Socket::bind(&nowhere), Err(Error::Socket { .. })));
}
