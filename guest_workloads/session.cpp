// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/session.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hvsim::workloads {

namespace {

constexpr std::uint64_t page = 4096;
// Where the VMM's mappings lie; only alignment matters.
constexpr engine::hva slot0_hva{0x7f0000000000};
constexpr engine::hva test_hva{0x7e0000000000};

std::vector<std::pair<std::string, std::uint32_t>> spreads(const scenario::machine_profile& m) {
  std::vector<std::pair<std::string, std::uint32_t>> out;
  for (const auto& c : m.costs)
    if (c.spread) out.emplace_back(c.key, static_cast<std::uint32_t>(*c.spread));
  return out;
}

machine::placement placement_of(const std::string& word) {
  if (word == "spread") return machine::placement::spread;
  if (word == "list") return machine::placement::list;
  return machine::placement::compact;
}

}  // namespace

session::session(const scenario::scenario& s, mmu::table_memory& table_memory,
                 engine::chooser* explore)
    : config(s),
      engine(explore),
      machine(machine::make_profile(s.machine.name, s.machine.values, spreads(s.machine))),
      mm(machine),
      tables(table_memory) {
  tables.reset();
  thread_origin_.resize(static_cast<std::size_t>(s.values.integer("vm.vcpus")));
  hypervisor::vm_config vc;
  vc.vcpus = static_cast<std::uint32_t>(s.values.integer("vm.vcpus"));
  vc.ipa_bits = static_cast<unsigned>(s.values.integer("vm.ipa_bits"));
  vc.vgic = s.values.boolean("vm.vgic");
  vc.extra_locked_per_block = s.values.time("host.populate_extra_locked");
  place_threads(vc.vcpus);
  vm = std::make_unique<hypervisor::vm>(engine, machine, mm, tables,
                                        hypervisor::make_switches(s.values), vc);
  // Where a lock's turn may have to wait for a CPU it needs its thread's fiber.
  vm->may_work_ahead = host_ == nullptr;
}

session::~session() = default;

void session::place_threads(std::uint32_t vcpus_wanted) {
  const registry::value_map& v = config.values;
  // The main thread is one more.
  const bool shared = session_host::needed(v, vcpus_wanted + 1);
  const std::uint32_t cpus =
      shared ? static_cast<std::uint32_t>(v.integer("host.cpus")) : vcpus_wanted;
  cores_ = machine::place(machine.shape(), placement_of(v.text("vm.placement")), cpus,
                          v.list("vm.cores"));
  // Explored orders are not those of a scheduler.
  if (shared && !engine.exploring())
    host_ = std::make_unique<session_host>(engine, guest::make_host_options(v), cores_);
  for (std::uint32_t i = cpus; i < vcpus_wanted; ++i) cores_.push_back(cores_[i % cpus]);
}

void session::build_guest(engine::bytes per_vcpu, bool all_overlap, host::backing backing,
                          std::uint32_t slots) {
  bytes_per_vcpu = per_vcpu;
  overlap = all_overlap;
  memslots = slots;
  build(per_vcpu * static_cast<std::uint64_t>(config.values.integer("vm.vcpus")), backing);
}

void session::build_shared_guest(engine::bytes total, host::backing backing, std::uint32_t slots) {
  // A share that is no whole number of pages counts as the next one where sizes follow from it.
  bytes_per_vcpu =
      engine::bytes{total.value() / static_cast<std::uint64_t>(config.values.integer("vm.vcpus"))};
  overlap = true;
  memslots = slots;
  build(total, backing);
}

void session::build(engine::bytes total, host::backing backing) {
  const auto n = static_cast<std::uint32_t>(config.values.integer("vm.vcpus"));
  test_size = total;
  // The selftests put test memory at the top of guest physical space, one page below the end,
  // aligned to the backing page.
  const std::uint64_t align = host::page_size_of(backing).value();
  const std::uint64_t top = 1ULL << config.values.integer("vm.ipa_bits");
  test_ipa = engine::ipa{(top - test_size.value() - page) / align * align};
  guest = std::make_unique<selftest_guest>(find_image(config.values.text("vm.image")), n,
                                           bytes_per_vcpu, test_size, test_ipa, stop_);

  shared_.machine = &machine;
  shared_.s2 = &vm->tables();
  shared_.stage1 = guest.get();
  shared_.host = vm.get();
  shared_.log = &vm->invalidations();
  shared_.privacy = &vm->privacy();
  shared_.fault_latency = &fault_latency;
  shared_.seed = static_cast<std::uint64_t>(config.values.integer("seed"));
  for (std::uint32_t v = 0; v < n; ++v)
    vcpus.push_back(std::make_unique<vcpu::vcpu>(shared_, engine::vcpu_id{v}, cores_[v]));
  main.core = engine::core_id{machine.shape().cores() - 1};
  main.random = engine::random_stream(shared_.seed, ~std::uint64_t{0});

  // Slot 0 is small-page memory that the VMM has written; test memory is untouched.
  slot0_vma_ = mm.map(slot0_hva, guest->slot0_size(), host::backing::anonymous);
  mm.populate(slot0_vma_);
  test_vma_ = mm.map(test_hva, test_size, backing);

  access::privacy_map& privacy = vm->privacy();
  privacy.reset(test_ipa, test_size);
  if (engine.exploring()) {
    privacy.share_all();
  } else {
    for (std::uint32_t v = 0; v < n; ++v)
      privacy.declare(engine::vcpu_id{v}, test_ipa + (range_begin(v) - selftest_guest::test_va),
                      range_size());
  }
}

engine::gva session::range_begin(std::uint32_t v) const {
  return overlap ? selftest_guest::test_va : selftest_guest::test_va + bytes_per_vcpu * v;
}

engine::bytes session::range_size() const {
  return overlap ? test_size : bytes_per_vcpu;
}

void session::create_slots() {
  vm->create_slot(main, 0, engine::ipa{}, guest->slot0_size(), slot0_hva, slot0_vma_);
  const engine::bytes each{test_size.value() / memslots};
  for (std::uint32_t i = 0; i < memslots; ++i)
    vm->create_slot(main, i + 1, test_ipa + each * i, each, test_hva + each * i, test_vma_);
}

void session::run(std::function<void(session&)> main_thread) {
  main.thread = &engine.spawn("main", engine::sim_time{},
                              [this, work = std::move(main_thread)](engine::thread& t) {
                                if (host_) host_->begin(t);
                                create_slots();
                                work(*this);
                                if (host_) host_->end(t);
                              });
  if (host_) host_->add_main(main);
  engine.run();
}

void session::start_vcpus(std::function<void(session&, vcpu::vcpu&)> body) {
  const machine::cost_table& costs = machine.costs();
  for (auto& v : vcpus) {
    main.thread->advance(engine::part::thread_start, costs.thread_create.draw(main.random));
    const engine::sim_time created = now();
    thread_origin_[v->id().value()] = created;
    v->cpu.thread = &engine.spawn("vcpu" + std::to_string(v->id().value()), created,
                                  [this, vp = v.get(), body](engine::thread& t) {
                                    vp->cpu.thread = &t;
                                    if (host_) host_->begin(t);
                                    t.advance(engine::part::thread_start,
                                              machine.costs().thread_start.draw(vp->cpu.random));
                                    body(*this, *vp);
                                    if (host_) host_->end(t);
                                  });
    if (host_) host_->add_vcpu(*v);
    vm->privacy().bind(v->id(), *v->cpu.thread);
  }
}

std::array<engine::duration, engine::part_count> session::parts_at(engine::sim_time t) const {
  std::array<engine::duration, engine::part_count> sum = main.thread->parts();
  const auto idle = static_cast<std::size_t>(engine::part::idle);
  // The main thread's own accounts are up to date. A vCPU thread is parked, or has not been
  // created: what it waited until now is not booked yet.
  for (const auto& v : vcpus) {
    if (v->cpu.thread == nullptr) {
      sum[idle] += t - engine::sim_time{};
      continue;
    }
    const engine::thread& th = *v->cpu.thread;
    for (std::size_t p = 0; p < engine::part_count; ++p) sum[p] += th.parts()[p];
    sum[idle] += thread_origin_[v->id().value()] - engine::sim_time{};
    sum[idle] += t - th.now();
  }
  return sum;
}

void session::mark(const std::string& ended) {
  const engine::sim_time t = now();
  const auto parts = parts_at(t);
  const auto host_now = std::chrono::steady_clock::now();
  if (phase_open_) {
    result.host_seconds.emplace_back(
        ended, std::chrono::duration<double>(host_now - host_before_).count());
    phase p;
    p.name = ended;
    p.time = t - phase_begin_;
    p.counts = vm->counts().since(counts_before_);
    for (std::size_t i = 0; i < engine::part_count; ++i) p.parts[i] = parts[i] - parts_before_[i];
    if (host_) p.host_counts = host_->counts();
    for (std::size_t i = 0; i < host_counts_before_.size(); ++i)
      p.host_counts[i].second -= host_counts_before_[i].second;
    result.phases.push_back(std::move(p));
  }
  phase_open_ = true;
  phase_begin_ = t;
  host_before_ = host_now;
  counts_before_ = vm->counts();
  parts_before_ = parts;
  if (host_) host_counts_before_ = host_->counts();
}

void session::report(std::string key, std::string label, engine::duration time) {
  result.times.push_back({std::move(key), std::move(label), time});
}

void rounds::park_worker(engine::thread& t) {
  idle_.push_back(&t);
  t.park(engine::part::idle, "the next iteration");
}

void rounds::arrive(engine::thread& t) {
  t.sync();
  if (++started_ < workers_) {
    park_worker(t);
    return;
  }
  for (engine::thread* other : idle_) t.owner().wake(*other, t.now());
  idle_.clear();
}

bool rounds::next(engine::thread& t) {
  t.sync();
  if (repeating_) return true;
  ++finished_;
  if (finished_ == workers_ && waiting_main_ != nullptr) {
    engine::thread* m = waiting_main_;
    waiting_main_ = nullptr;
    t.owner().wake(*m, t.now());
  }
  if (!quit_) park_worker(t);
  if (!quit_) return true;
  t.sync();
  if (++left_ == workers_ && waiting_main_ != nullptr) t.owner().wake(*waiting_main_, t.now());
  return false;
}

void rounds::release(session& s) {
  s.main.thread->sync();
  finished_ = 0;
  for (engine::thread* w : std::exchange(idle_, {})) s.engine.wake(*w, s.main.thread->now());
}

void rounds::release_repeating(session& s) {
  release(s);
  repeating_ = true;
}

void rounds::end_repeating(session& s) {
  s.main.thread->sync();
  repeating_ = false;
}

void rounds::wait_all(session& s) {
  s.main.thread->sync();
  if (finished_ == workers_) return;
  waiting_main_ = s.main.thread;
  s.main.thread->park(engine::part::idle, "the vCPUs to finish an iteration");
}

void rounds::quit(session& s) {
  s.main.thread->sync();
  quit_ = true;
  for (engine::thread* w : std::exchange(idle_, {})) s.engine.wake(*w, s.main.thread->now());
  if (left_ == workers_) return;
  waiting_main_ = s.main.thread;
  s.main.thread->park(engine::part::idle, "the vCPU threads to leave");
}

}  // namespace hvsim::workloads
